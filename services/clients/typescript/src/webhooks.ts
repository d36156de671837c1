/** Verify saycart's webhooks (Standard Webhooks: HMAC-SHA256 over id, time and body). */

import { InvalidSignature } from "./errors.js";
import type { WebhookMessage } from "./models.js";

const TOLERANCE_S = 300;

/**
 * Verify a webhook and return its message; throws InvalidSignature.
 *
 * `body` is the raw text, not parsed and serialized again; `secret` is `whsec_…`, as printed by
 * `saycart webhooks add`.
 */
export async function verify(
  body: string | Uint8Array<ArrayBuffer>,
  headers: Headers | Record<string, string | string[] | undefined>,
  secret: string,
): Promise<WebhookMessage> {
  const named = (name: string): string => {
    const value = headers instanceof Headers ? headers.get(name) : headers[name];
    if (typeof value !== "string") throw new InvalidSignature(`The header ${name} is missing.`);
    return value;
  };
  const sentAt = named("webhook-timestamp");
  if (!(Math.abs(Date.now() / 1000 - Number(sentAt)) <= TOLERANCE_S)) {
    throw new InvalidSignature("The message is too old, or from the future.");
  }
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const head = new TextEncoder().encode(`${named("webhook-id")}.${sentAt}.`);
  const signed = new Uint8Array([...head, ...bytes]);
  const hmac = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", decoded(secret.replace(/^whsec_/, "")), hmac, false, ["verify"]);
  for (const [version, signature] of named("webhook-signature").split(" ").map((one) => one.split(","))) {
    if (version === "v1" && (await crypto.subtle.verify("HMAC", key, decoded(signature ?? ""), signed))) {
      return JSON.parse(new TextDecoder().decode(bytes)) as WebhookMessage;
    }
  }
  throw new InvalidSignature("No signature matches.");
}

function decoded(base64: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    throw new InvalidSignature("The secret or a signature is not base64.");
  }
}
