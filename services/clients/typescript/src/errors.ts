/** Every error of the client. Each says what to do (`hint`) and whether to try again (`retryable`). */

import type { Order, Problem } from "./models.js";

export class SaycartError extends Error {
  readonly retryable: boolean = false;
  readonly hint: string = "";
}

/** No answer of saycart's came. */
export class Unreachable extends SaycartError {
  override readonly retryable = true;
  override readonly hint = "Check the address, that saycart is running, and any proxy in between.";
}

/** `wait` gave up; the order goes on. */
export class NotSettled extends SaycartError {
  override readonly retryable = true;
  override readonly hint = "Wait again, follow its events, or take its webhooks.";
}

/** A webhook that saycart did not sign, or an old one. */
export class InvalidSignature extends SaycartError {
  override readonly hint = "Answer 401. If it should fit: check the secret, and this machine's clock.";
}

/** saycart refused, with an RFC 9457 problem. `retryAfter`: seconds, if the answer names a time. */
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

/** 401, 403: the key is unknown, expired or lacks the scope. */
export class NotAllowed extends ProblemError {}

/** 404: not in this shop. */
export class NotFound extends ProblemError {}

/** 409: it changed since it was read; `order` is how it is now. */
export class Conflict extends ProblemError {}

/** 429, 5xx: come back after `retryAfter`. */
export class Unavailable extends ProblemError {}

type Kind = typeof ProblemError;
const KINDS: Record<number, Kind> = { 401: NotAllowed, 403: NotAllowed, 404: NotFound, 409: Conflict, 429: Unavailable };

/** The error of an answer that is not a success. */
export async function refused(response: Response): Promise<ProblemError | Unreachable> {
  const { status, headers } = response;
  const text = await response.text();
  if (!headers.get("Content-Type")?.startsWith("application/problem+json")) {
    return new Unreachable(`Something else answered: ${status} ${text.slice(0, 200)}`);
  }
  const problem = JSON.parse(text) as Problem & { order?: Order };
  const after = headers.get("Retry-After") ?? "";
  const kind = KINDS[status] ?? (status >= 500 ? Unavailable : InvalidRequest);
  return new kind(problem, /^\d+$/.test(after) ? Number(after) : undefined, problem.order);
}
