{{/* Check values against each other, and list all problems, without secrets. values.schema.json checks each value alone. */}}
{{- define "saycart.checks" -}}
{{- $v := .Values -}}
{{- $bad := list -}}
{{- if not $v.secrets.existing -}}
{{- range list "DATABASE_URL" "REDIS_URL" "SAYCART_SECRET" -}}
{{- if not (index $v.secrets.create .) -}}{{- $bad = append $bad (printf "secrets: name a Secret in secrets.existing, or set secrets.create.%s" .) -}}{{- end -}}
{{- end -}}
{{- if not (hasPrefix "postgresql+psycopg://" (default "postgresql+psycopg://" $v.secrets.create.DATABASE_URL)) -}}{{- $bad = append $bad "secrets.create.DATABASE_URL: several machines need PostgreSQL, postgresql+psycopg://..." -}}{{- end -}}
{{- range compact (splitList " " $v.secrets.create.SAYCART_SECRET) -}}
{{- if lt (len .) 32 -}}{{- $bad = append $bad "secrets.create.SAYCART_SECRET: each secret has 32 characters or more; openssl rand -hex 32 makes one" -}}{{- end -}}
{{- end -}}
{{- if and $v.decoder.apiKey (not $v.secrets.create.SAYCART_LLM_API_KEY) -}}{{- $bad = append $bad "decoder.apiKey requires secrets.create.SAYCART_LLM_API_KEY" -}}{{- end -}}
{{- if and $v.limits.shared (not $v.secrets.create.SAYCART_LIMITS_URL) -}}{{- $bad = append $bad "limits.shared requires secrets.create.SAYCART_LIMITS_URL" -}}{{- end -}}
{{- end -}}
{{- $set := dict
  "SAYCART_HOME" "nothing: pods have /data" "SAYCART_MODELS_DIR" "weights" "SAYCART_API_HOST" "nothing: pods have their own address" "SAYCART_API_PORT" "nothing: the Service has port 80"
  "SAYCART_HOSTS" "api.hosts" "SAYCART_PROXIES" "api.proxies" "SAYCART_PUBLIC_URL" "ingress.host" "SAYCART_MIGRATE_AT_START" "migration.enabled"
  "SAYCART_WHISPER_MODEL" "workers.transcribe.model" "SAYCART_WHISPER_SECOND" "workers.transcribe.second" "SAYCART_DENOISER" "workers.transcribe.denoiser" "SAYCART_THREADS" "workers.transcribe.threads"
  "SAYCART_DECODE_CONCURRENCY" "workers.decode.concurrency" "SAYCART_WEBHOOK_ENDPOINTS" "webhook.endpoints" "SAYCART_RECORDINGS_URL" "recordings.url"
  "SAYCART_LLM_URL" "decoder.url" "SAYCART_LLM_MODEL" "decoder.model"
  "SAYCART_METRICS_PORT" "monitoring.podMonitor"
  "SAYCART_READY_FILE" "nothing: the probes have it"
-}}
{{- range $name, $_ := $v.settings -}}
{{- if hasKey $set $name -}}{{- $bad = append $bad (printf "settings.%s: the chart sets it itself; use %s" $name (get $set $name)) -}}{{- end -}}
{{- if or (hasKey $v.secrets.create $name) (eq $name "SAYCART_KEY") -}}{{- $bad = append $bad (printf "settings.%s: a secret does not belong in a ConfigMap; use secrets" $name) -}}{{- end -}}
{{- end -}}
{{- range $name, $image := omit $v.images "pullPolicy" "pullSecrets" -}}
{{- if eq $image.tag "latest" -}}{{- $bad = append $bad (printf "images.%s.tag: latest is another release tomorrow; name one, or a digest" $name) -}}{{- end -}}
{{- end -}}
{{- range $v.ingress.paths -}}
{{- if has . (list "/metrics" "/readyz" "/livez" "/docs" "/openapi.json") -}}{{- $bad = append $bad (printf "ingress.paths: %s is for the cluster alone" .) -}}{{- end -}}
{{- end -}}
{{- if and (eq $v.decoder.kind "external") (not $v.decoder.url) -}}{{- $bad = append $bad "decoder.kind is external: decoder.url names no server" -}}{{- end -}}
{{- if and (ne $v.decoder.kind "external") $v.decoder.url -}}{{- $bad = append $bad (printf "decoder.url is for decoder.kind external, and it is %s" $v.decoder.kind) -}}{{- end -}}
{{- if and (eq $v.decoder.kind "vllm") (hasSuffix ".gguf" $v.decoder.model) -}}
{{- if not $v.decoder.vllm.existingClaim -}}{{- $bad = append $bad (printf "decoder.model %s: vLLM loads no GGUF; name in decoder.vllm.existingClaim a claim with the folder that `make vllm-weights` writes, or a hub's model" $v.decoder.model) -}}{{- end -}}
{{- if not $v.reader.adapter -}}{{- $bad = append $bad (printf "decoder.model %s is served by vLLM with its adapter, and reader.adapter names none" $v.decoder.model) -}}{{- end -}}
{{- $for := regexReplaceAll "-instruct.*" $v.decoder.model "" -}}
{{- /* Those of a release are named so; one of your own has any name. */ -}}
{{- if and (hasSuffix "-orders" $v.reader.adapter) (ne (base $v.reader.adapter) (printf "%s-orders" $for)) -}}{{- $bad = append $bad (printf "reader.adapter %s was not made for decoder.model %s" (base $v.reader.adapter) $v.decoder.model) -}}{{- end -}}
{{- end -}}
{{- if and (eq $v.recordings.kind "s3") (not $v.recordings.url) -}}{{- $bad = append $bad "recordings.kind is s3: recordings.url names no bucket" -}}{{- end -}}
{{- if and (eq $v.weights.from "volume") (not $v.weights.existingClaim) -}}{{- $bad = append $bad "weights.from is volume: weights.existingClaim names none" -}}{{- end -}}
{{- if $v.ingress.enabled -}}
{{- if not $v.ingress.host -}}{{- $bad = append $bad "ingress.enabled requires ingress.host" -}}{{- end -}}
{{- if not $v.ingress.tlsSecret -}}{{- $bad = append $bad "ingress.enabled requires ingress.tlsSecret: sign-ins and customers' cookies work by https alone" -}}{{- end -}}
{{- if and $v.networkPolicy.enabled (not $v.networkPolicy.callers) -}}{{- $bad = append $bad "ingress.enabled requires networkPolicy.callers: the ingress controller's pods, which nothing could reach the API without" -}}{{- end -}}
{{- end -}}
{{- range $name, $worker := $v.workers -}}
{{- with $worker.keda -}}
{{- if and .enabled (not $v.keda.serverAddress) -}}{{- $bad = append $bad (printf "workers.%s.keda requires keda.serverAddress: the Prometheus that has the queues' ages" $name) -}}{{- end -}}
{{- if and .enabled (gt (int .minReplicas) (int .maxReplicas)) -}}{{- $bad = append $bad (printf "workers.%s.keda: minReplicas is over maxReplicas" $name) -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- if and $v.api.autoscaling.enabled (gt (int $v.api.autoscaling.minReplicas) (int $v.api.autoscaling.maxReplicas)) -}}{{- $bad = append $bad "api.autoscaling: minReplicas is over maxReplicas" -}}{{- end -}}
{{- if and (or $v.monitoring.serviceMonitor.enabled $v.monitoring.database.enabled) (not $v.monitoring.serviceMonitor.keySecret) -}}{{- $bad = append $bad "monitoring.serviceMonitor requires keySecret: a Secret with a key that has the scope metrics" -}}{{- end -}}
{{- if and $v.monitoring.prometheusRule.enabled (not $v.monitoring.prometheusRule.files) -}}{{- $bad = append $bad "monitoring.prometheusRule requires files: --set-file monitoring.prometheusRule.files.alerts=infra/prometheus/alerts.yml" -}}{{- end -}}
{{- if $bad -}}{{- fail (printf "\n- %s" (join "\n- " $bad)) -}}{{- end -}}
{{- end -}}
