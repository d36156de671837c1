/** The errors of the client. Each says what to do (`hint`) and whether to try again (`retryable`). */

import type { Order, Problem } from "./models.js";

export class SaycartError extends Error {
  readonly retryable: boolean = false;
  readonly hint: string = "";
}

/** No response from saycart. */
export class Unreachable extends SaycartError {
  override readonly retryable = true;
  override readonly hint = "Check the address, that saycart is running, and any proxy in between.";
}

/** `wait` timed out; the order is still being processed. */
export class NotSettled extends SaycartError {
  override readonly retryable = true;
  override readonly hint = "Wait again, follow its events, or use webhooks.";
}

/** A webhook not signed by saycart, or too old. */
export class InvalidSignature extends SaycartError {
  override readonly hint = "Answer with 401. If it is genuine, check the secret and this machine's clock.";
}

/** An RFC 9457 problem. `retryAfter`: seconds, from the Retry-After header. */
export class ProblemError extends SaycartError {
  override readonly retryable: boolean;
  override readonly hint: string;

  constructor(readonly problem: Problem, readonly retryAfter?: number, readonly order?: Order) {
    const fields = (problem.errors ?? []).map((error) => `\n  ${error.pointer}: ${error.detail}`);
    super(`${problem.status} ${problem.detail}${fields.join("")}\n${problem.hint}`);
    this.retryable = problem.retryable ?? false;
    this.hint = problem.hint;
  }
}

/** Any other 4xx: `problem.errors` names the fields. */
export class InvalidRequest extends ProblemError {}

/** 401, 403: the key is unknown or expired, or lacks the scope. */
export class NotAllowed extends ProblemError {}

/** 404: not in this shop. */
export class NotFound extends ProblemError {}

/** 409: it has changed; `order` is its current state. */
export class Conflict extends ProblemError {}

/** 429, 5xx: try again after `retryAfter`. */
export class Unavailable extends ProblemError {}

type Kind = typeof ProblemError;
const KINDS: Record<number, Kind> = { 401: NotAllowed, 403: NotAllowed, 404: NotFound, 409: Conflict, 429: Unavailable };

/** Return the error for an unsuccessful response. */
export async function errorOf(response: Response): Promise<ProblemError | Unreachable> {
  const { status, headers } = response;
  const text = await response.text();
  if (!headers.get("Content-Type")?.startsWith("application/problem+json")) {
    return new Unreachable(`The response is not from saycart: ${status} ${text.slice(0, 200)}`);
  }
  const problem = JSON.parse(text) as Problem & { order?: Order };
  const after = headers.get("Retry-After") ?? "";
  const kind = KINDS[status] ?? (status >= 500 ? Unavailable : InvalidRequest);
  return new kind(problem, /^\d+$/.test(after) ? Number(after) : undefined, problem.order);
}
