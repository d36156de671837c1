{{/* Names, labels and addresses. What takes a part gets (dict "root" $ "part" "api"). */}}

{{- define "saycart.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "saycart.selector" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .part }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end -}}

{{- define "saycart.labels" -}}
{{ include "saycart.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* Not empty if shops may have webhook endpoints, so that a courier is needed. */}}
{{- define "saycart.courier" -}}
{{- if ne .Values.webhook.endpoints "off" }}yes{{ end -}}
{{- end -}}

{{/* (dict "root" $ "of" "api"): one of `images`. */}}
{{- define "saycart.image" -}}
{{- $image := index .root.Values.images .of -}}
{{- if $image.digest -}}
{{ printf "%s@%s" $image.repository $image.digest }}
{{- else -}}
{{ printf "%s:%s" $image.repository (default .root.Chart.AppVersion $image.tag) }}
{{- end -}}
{{- end -}}

{{- define "saycart.secretName" -}}
{{- default (printf "%s-secrets" (include "saycart.fullname" .)) .Values.secrets.existing -}}
{{- end -}}

{{- define "saycart.weightsClaim" -}}
{{- default (printf "%s-weights" (include "saycart.fullname" .)) .Values.weights.existingClaim -}}
{{- end -}}

{{- define "saycart.recordingsClaim" -}}
{{- default (printf "%s-recordings" (include "saycart.fullname" .)) .Values.recordings.existingClaim -}}
{{- end -}}

{{/* The Service of the decode servers, or the one outside the chart. */}}
{{- define "saycart.decoderUrl" -}}
{{- $name := include "saycart.fullname" . -}}
{{- if eq .Values.decoder.kind "embedded" -}}
{{ printf "http://%s-reader:8090" $name }}
{{- else if eq .Values.decoder.kind "vllm" -}}
{{ printf "vllm+http://%s-vllm:8000" $name }}
{{- else -}}
{{ .Values.decoder.url }}
{{- end -}}
{{- end -}}

{{/* The API's host names; requests for others are refused. */}}
{{- define "saycart.hosts" -}}
{{- $name := include "saycart.fullname" . -}}
{{- $space := .Release.Namespace -}}
{{- $hosts := list "$(POD_IP)" $name (printf "%s.%s" $name $space) (printf "%s.%s.svc" $name $space) (printf "%s.%s.svc.cluster.local" $name $space) -}}
{{- join "," (concat $hosts .Values.api.hosts) -}}
{{- end -}}

{{/* The settings of every part, without secrets. */}}
{{- define "saycart.settings" -}}
{{- $values := .Values -}}
{{- $own := dict
  "SAYCART_HOME" "/data"
  "SAYCART_MODELS_DIR" "/models"
  "SAYCART_API_HOST" "0.0.0.0"
  "SAYCART_API_PORT" "8420"
  "SAYCART_PROXIES" (join "," $values.api.proxies)
  "SAYCART_MIGRATE_AT_START" (ternary "false" "true" $values.migration.enabled)
  "SAYCART_WHISPER_MODEL" $values.workers.transcribe.model
  "SAYCART_WHISPER_SECOND" $values.workers.transcribe.second
  "SAYCART_DENOISER" $values.workers.transcribe.denoiser
  "SAYCART_THREADS" (toString $values.workers.transcribe.threads)
  "SAYCART_DECODE_CONCURRENCY" (toString $values.workers.decode.concurrency)
  "SAYCART_LLM_URL" (include "saycart.decoderUrl" .)
  "SAYCART_LLM_MODEL" $values.decoder.model
-}}
{{- if $values.monitoring.podMonitor.enabled }}
{{- $own = merge $own (dict "SAYCART_METRICS_PORT" (toString $values.monitoring.podMonitor.port)) -}}
{{- end }}
{{- if ne $values.webhook.endpoints "off" }}{{- $own = set $own "SAYCART_WEBHOOK_ENDPOINTS" $values.webhook.endpoints -}}{{- end }}
{{- if $values.ingress.enabled }}{{- $own = set $own "SAYCART_PUBLIC_URL" (printf "https://%s" $values.ingress.host) -}}{{- end }}
{{- if eq $values.recordings.kind "s3" }}
{{- $own = merge $own (dict "SAYCART_RECORDINGS_URL" (printf "%s?endpoint=%s&links=%t" $values.recordings.url $values.recordings.endpoint $values.recordings.links)) -}}
{{- end }}
{{- range $name, $value := merge $own $values.settings }}
{{ $name }}: {{ $value | quote }}
{{- end }}
{{- end -}}
