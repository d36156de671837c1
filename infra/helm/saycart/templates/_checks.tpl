{{/* What one value wants of another. Shapes are values.schema.json's; this never shows a secret. */}}
{{- define "saycart.checks" -}}
{{- $v := .Values -}}
{{- if not $v.secrets.existing -}}
{{- range list "DATABASE_URL" "REDIS_URL" "SAYCART_SECRET" -}}
{{- if not (index $v.secrets.create .) -}}{{- fail (printf "secrets: name a Secret in secrets.existing, or set secrets.create.%s" .) -}}{{- end -}}
{{- end -}}
{{- if not (hasPrefix "postgresql+psycopg://" $v.secrets.create.DATABASE_URL) -}}{{- fail "secrets.create.DATABASE_URL: several machines need PostgreSQL, postgresql+psycopg://..." -}}{{- end -}}
{{- range splitList " " $v.secrets.create.SAYCART_SECRET -}}
{{- if lt (len .) 32 -}}{{- fail "secrets.create.SAYCART_SECRET: each secret has 32 characters or more; openssl rand -hex 32 makes one" -}}{{- end -}}
{{- end -}}
{{- if and $v.webhook.url (not $v.secrets.create.SAYCART_WEBHOOK_SECRET) -}}{{- fail "webhook.url wants secrets.create.SAYCART_WEBHOOK_SECRET" -}}{{- end -}}
{{- if and $v.decoder.apiKey (not $v.secrets.create.SAYCART_LLM_API_KEY) -}}{{- fail "decoder.apiKey wants secrets.create.SAYCART_LLM_API_KEY" -}}{{- end -}}
{{- if and $v.limits.shared (not $v.secrets.create.SAYCART_LIMITS_URL) -}}{{- fail "limits.shared wants secrets.create.SAYCART_LIMITS_URL" -}}{{- end -}}
{{- end -}}
{{- $set := dict
  "SAYCART_HOME" "nothing: pods have /data" "SAYCART_MODELS_DIR" "weights" "SAYCART_API_HOST" "nothing: pods have their own address" "SAYCART_API_PORT" "nothing: the Service has port 80"
  "SAYCART_HOSTS" "api.hosts" "SAYCART_PROXIES" "api.proxies" "SAYCART_PUBLIC_URL" "ingress.host" "SAYCART_MIGRATE_AT_START" "migration.enabled"
  "SAYCART_WHISPER_MODEL" "workers.transcribe.model" "SAYCART_WHISPER_SECOND" "workers.transcribe.second" "SAYCART_WHISPER_THREADS" "workers.transcribe.threads" "SAYCART_WHISPER_DEVICE" "workers.transcribe.device"
  "SAYCART_DECODE_CONCURRENCY" "workers.decode.concurrency" "SAYCART_WORKER_DRAIN_S" "workerDrainSeconds" "SAYCART_WEBHOOK_URL" "webhook.url" "SAYCART_RECORDINGS_URL" "recordings.url"
  "SAYCART_LLM_URL" "decoder.url" "SAYCART_LLM_MODEL" "decoder.model" "SAYCART_LLM_DIALECT" "decoder.dialect" "SAYCART_FALLBACK_LLM_URL" "decoder.fallback.url" "SAYCART_FALLBACK_LLM_DIALECT" "decoder.fallback.dialect"
  "SAYCART_DATABASE_POOLER" "database.pooler" "SAYCART_METRICS_PORT" "monitoring.podMonitor" "SAYCART_METRICS_HOST" "monitoring.podMonitor"
  "SAYCART_READY_FILE" "nothing: the probes have it" "SAYCART_OPEN" "nothing: it is for loopback alone"
-}}
{{- range $name, $_ := $v.settings -}}
{{- if hasKey $set $name -}}{{- fail (printf "settings.%s: the chart sets it itself; use %s" $name (get $set $name)) -}}{{- end -}}
{{- if or (hasKey $v.secrets.create $name) (eq $name "SAYCART_KEY") -}}{{- fail (printf "settings.%s: a secret does not belong in a ConfigMap; use secrets" $name) -}}{{- end -}}
{{- end -}}
{{- range $name, $image := omit $v.images "pullPolicy" "pullSecrets" -}}
{{- if eq $image.tag "latest" -}}{{- fail (printf "images.%s.tag: latest is another release tomorrow; name one, or a digest" $name) -}}{{- end -}}
{{- end -}}
{{- range $v.ingress.paths -}}
{{- if has . (list "/metrics" "/readyz" "/livez" "/docs" "/openapi.json") -}}{{- fail (printf "ingress.paths: %s is for the cluster alone" .) -}}{{- end -}}
{{- end -}}
{{- if and $v.database.direct (eq $v.database.pooler "none") -}}{{- fail "database.direct goes with database.pooler transaction" -}}{{- end -}}
{{- if and $v.database.direct (not $v.secrets.existing) (not $v.secrets.create.SAYCART_DATABASE_DIRECT_URL) -}}{{- fail "database.direct wants secrets.create.SAYCART_DATABASE_DIRECT_URL" -}}{{- end -}}
{{- if and (eq $v.decoder.kind "external") (not $v.decoder.url) -}}{{- fail "decoder.kind is external: decoder.url names no server" -}}{{- end -}}
{{- if and (ne $v.decoder.kind "external") $v.decoder.url -}}{{- fail (printf "decoder.url is for decoder.kind external, and it is %s" $v.decoder.kind) -}}{{- end -}}
{{- if and (eq $v.decoder.kind "vllm") (hasSuffix ".gguf" $v.decoder.model) -}}{{- fail "decoder.model: vLLM takes a hub's name, such as Qwen/Qwen2.5-Coder-7B-Instruct, and no GGUF" -}}{{- end -}}
{{- if and (eq $v.recordings.kind "s3") (not $v.recordings.url) -}}{{- fail "recordings.kind is s3: recordings.url names no bucket" -}}{{- end -}}
{{- if and (eq $v.weights.from "volume") (not $v.weights.existingClaim) -}}{{- fail "weights.from is volume: weights.existingClaim names none" -}}{{- end -}}
{{- if $v.ingress.enabled -}}
{{- if not $v.ingress.host -}}{{- fail "ingress.enabled wants ingress.host" -}}{{- end -}}
{{- if not $v.ingress.tlsSecret -}}{{- fail "ingress.enabled wants ingress.tlsSecret: sign-ins and customers' cookies work by https alone" -}}{{- end -}}
{{- if and $v.networkPolicy.enabled (not $v.networkPolicy.callers) -}}{{- fail "ingress.enabled wants networkPolicy.callers: the ingress controller's pods, which nothing could reach the API without" -}}{{- end -}}
{{- end -}}
{{- range $name, $worker := $v.workers -}}
{{- with $worker.keda -}}
{{- if and .enabled (not $v.keda.serverAddress) -}}{{- fail (printf "workers.%s.keda wants keda.serverAddress: the Prometheus that has the queues' ages" $name) -}}{{- end -}}
{{- if and .enabled (gt (int .minReplicas) (int .maxReplicas)) -}}{{- fail (printf "workers.%s.keda: minReplicas is over maxReplicas" $name) -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- if and $v.api.autoscaling.enabled (gt (int $v.api.autoscaling.minReplicas) (int $v.api.autoscaling.maxReplicas)) -}}{{- fail "api.autoscaling: minReplicas is over maxReplicas" -}}{{- end -}}
{{- if and (or $v.monitoring.serviceMonitor.enabled $v.monitoring.database.enabled) (not $v.monitoring.serviceMonitor.keySecret) -}}{{- fail "monitoring.serviceMonitor wants keySecret: a Secret with a key that has the scope metrics" -}}{{- end -}}
{{- if and $v.monitoring.prometheusRule.enabled (not $v.monitoring.prometheusRule.rules) -}}{{- fail "monitoring.prometheusRule wants its rules: --set-file monitoring.prometheusRule.rules=infra/prometheus/alerts.yml" -}}{{- end -}}
{{- end -}}
