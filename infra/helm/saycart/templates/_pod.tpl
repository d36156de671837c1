{{/* Common to all our pods. */}}

{{- define "saycart.podSecurity" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
{{- with .Values.images.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{- define "saycart.containerSecurity" -}}
allowPrivilegeEscalation: false
privileged: false
readOnlyRootFilesystem: true
runAsNonRoot: true
runAsUser: 10001
capabilities: { drop: [ALL] }
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{/* (dict "root" $ "part" "api"): labels and annotations. A change of settings restarts the pods. */}}
{{- define "saycart.podMetadata" -}}
labels:
  {{- include "saycart.labels" . | nindent 2 }}
  {{- with .root.Values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
annotations:
  checksum/settings: {{ include "saycart.settings" .root | sha256sum }}
  {{- if not .root.Values.secrets.existing }}
  checksum/secrets: {{ toJson .root.Values.secrets.create | sha256sum }}
  {{- end }}
  {{- with .root.Values.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* (dict "root" $ "part" "api" "values" .Values.api): where pods go. */}}
{{- define "saycart.placing" -}}
topologySpreadConstraints:
  {{- range $key := list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - maxSkew: 1
    topologyKey: {{ $key }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "saycart.selector" (pick $ "root" "part") | nindent 8 }}
  {{- end }}
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The keys of the Secret that a part reads, only those that it needs. */}}
{{- define "saycart.secretKeys" -}}
{{- $values := .root.Values -}}
{{- $keys := list "DATABASE_URL" -}}
{{- if has .part (list "api" "transcribe" "decode" "sweeper") }}{{- $keys = append $keys "REDIS_URL" -}}{{- end }}
{{- if eq .part "api" }}{{- $keys = append $keys "SAYCART_SECRET" -}}{{- end }}
{{- if and (eq .part "api") $values.limits.shared }}{{- $keys = append $keys "SAYCART_LIMITS_URL" -}}{{- end }}
{{- if and (eq .part "api") $values.settings.SAYCART_OIDC_URL (or $values.secrets.existing $values.secrets.create.SAYCART_OIDC_CLIENT_SECRET) }}{{- $keys = append $keys "SAYCART_OIDC_CLIENT_SECRET" -}}{{- end }}
{{- if and (has .part (list "api" "decode")) $values.decoder.apiKey }}{{- $keys = append $keys "SAYCART_LLM_API_KEY" -}}{{- end }}
{{- join " " $keys -}}
{{- end -}}

{{/* (dict "root" $ "part" "api" "secret" NAME): variables from the Secret. */}}
{{- define "saycart.secretEnv" -}}
{{- range $key := splitList " " (include "saycart.secretKeys" .) }}
- name: {{ $key }}
  valueFrom:
    secretKeyRef: { name: {{ $.secret }}, key: {{ $key }} }
{{- end }}
{{- end -}}

{{/* (dict "root" $ "part" "api"): "yes" if a part reads or writes recordings, otherwise empty. */}}
{{- define "saycart.hasRecordings" -}}
{{- if has .part (list "api" "transcribe" "sweeper") }}yes{{ end -}}
{{- end -}}

{{/* (dict "root" $ "part" "api" "weights" BOOL): folders that can be written to, and the shared volumes. */}}
{{- define "saycart.mounts" -}}
- { name: run, mountPath: /run/saycart }
- { name: tmp, mountPath: /tmp }
- { name: home, mountPath: /data }
{{- if and (include "saycart.hasRecordings" .) (eq .root.Values.recordings.kind "volume") }}
- { name: recordings, mountPath: /data/recordings }
{{- end }}
{{- if and .weights (ne .root.Values.weights.from "image") }}
- { name: weights, mountPath: /models, readOnly: true }
{{- end }}
{{- end -}}

{{- define "saycart.volumes" -}}
- name: run
  emptyDir: { medium: Memory, sizeLimit: 1Mi }
- name: tmp
  emptyDir: { sizeLimit: 1Gi }
- name: home
  emptyDir: { sizeLimit: 1Gi }
{{- if and (include "saycart.hasRecordings" .) (eq .root.Values.recordings.kind "volume") }}
- name: recordings
  persistentVolumeClaim: { claimName: {{ include "saycart.recordingsClaim" .root }} }
{{- end }}
{{- if and .weights (ne .root.Values.weights.from "image") }}
- name: weights
  persistentVolumeClaim: { claimName: {{ include "saycart.weightsClaim" .root }}, readOnly: true }
{{- end }}
{{- end -}}

{{/*
Wait for weights. The command succeeds if they are there; otherwise it can't write them, fails, and is retried until
the Job has fetched them. (dict "root" $ "names" LIST)
*/}}
{{- define "saycart.awaitWeights" -}}
- name: weights
  image: {{ include "saycart.image" (dict "root" .root "of" "api") }}
  imagePullPolicy: {{ .root.Values.images.pullPolicy }}
  command: [python, -m, services.cli.main, models, fetch]
  args: {{ toJson .names }}
  env:
    - { name: SAYCART_MODELS_DIR, value: /models }
    - { name: SAYCART_HOME, value: /data }
    - { name: HOME, value: /tmp }
  securityContext:
    {{- include "saycart.containerSecurity" . | nindent 4 }}
  resources:
    requests: { cpu: 50m, memory: 128Mi }
    limits: { memory: 256Mi }
  volumeMounts:
    - { name: tmp, mountPath: /tmp }
    - { name: home, mountPath: /data }
    - { name: weights, mountPath: /models, readOnly: true }
{{- end -}}
