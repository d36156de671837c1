/** The client: `await (await new Saycart(key).order("a latte", { menu: "cafe" })).wait()`. */

import { errorOf, NotSettled, ProblemError, Unreachable } from "./errors.js";
import type { CartDraft, Choice, Order } from "./models.js";

const URL_HERE = "http://127.0.0.1:8420";
const TIMEOUT_MS = 40_000;
const POLL_S = 25; // of one long poll; the API allows 30
const TRIES = 4;
const MAX_PAUSE_S = 30;
const MOVING = ["queued", "processing"];

export interface NewOrder {
  /** The menu's id; optional for a recording if the shop has only one. */
  menu?: string;
  /** Ask for the customer's confirmation before the order is completed. */
  confirm?: boolean;
  /** Your own data, up to 8000 bytes, returned with the order. */
  metadata?: Record<string, unknown>;
  /** Repeating an order with its key returns the first one; default: a new key. */
  idempotencyKey?: string;
}

interface Call extends RequestInit {
  path: string;
  /** False if sending it twice has another effect than once. */
  repeatable?: boolean;
}

/**
 * A client of one shop. Calls reject with the errors of `errors.ts`, after retries where these are safe, at the
 * time that the API asks for.
 */
export class Saycart {
  readonly #url: string;
  readonly #fetch: typeof fetch;

  /** `url`: default http://127.0.0.1:8420; `fetch`: your own, for a proxy or certificates. */
  constructor(readonly key: string, options: { url?: string; fetch?: typeof fetch } = {}) {
    this.#url = (options.url ?? URL_HERE).replace(/\/$/, "");
    this.#fetch = options.fetch ?? fetch.bind(globalThis);
  }

  /** Order by text, or by a recording. */
  async order(content: string | Blob, options: NewOrder = {}): Promise<LiveOrder> {
    return this.postUtterance("/v1/orders", content, options);
  }

  async postUtterance(path: string, content: string | Blob, options: NewOrder): Promise<LiveOrder> {
    const { idempotencyKey = crypto.randomUUID(), ...fields } = options;
    const headers = { "Idempotency-Key": idempotencyKey };
    if (typeof content === "string") {
      return this.live({ path, ...json({ transcript: content, ...fields }, headers) });
    }
    const body = new FormData();
    // The name only marks it as a file: the API detects the format by the content.
    body.set("audio", content, "order");
    for (const [name, value] of Object.entries(fields)) {
      if (value !== undefined) body.set(name, typeof value === "string" ? value : JSON.stringify(value));
    }
    return this.live({ path, method: "POST", body, headers });
  }

  /** Get an order by its id. */
  get(id: string): Promise<LiveOrder> {
    return this.live({ path: `/v1/orders/${id}` });
  }

  /** Send a call, with retries if these are safe, and return the order in its response. */
  async live(call: Call): Promise<LiveOrder> {
    const { path, repeatable, ...init } = call;
    const headers = { ...init.headers, Authorization: `Bearer ${this.key}` };
    for (let tries = 1; ; tries++) {
      try {
        const signal = AbortSignal.timeout(TIMEOUT_MS);
        const response = await this.#fetch(this.#url + path, { ...init, headers, signal });
        if (!response.ok) throw await errorOf(response);
        return new LiveOrder(this, (await response.json()) as Order);
      } catch (error) {
        await pause(call, error, tries);
      }
    }
  }
}

/** An order as of its last response, with methods that return its new state. */
export class LiveOrder {
  readonly #client: Saycart;

  constructor(client: Saycart, order: Order) {
    this.#client = client;
    Object.assign(this, order);
  }

  /** Wait until it has ended, or is waiting for its customer or the staff; rejects with NotSettled. */
  async wait(timeoutS = 120): Promise<LiveOrder> {
    const end = Date.now() + timeoutS * 1000;
    let order: LiveOrder = this;
    while (MOVING.includes(order.status)) {
      const remaining = (end - Date.now()) / 1000;
      if (remaining <= 0) throw new NotSettled(`Order ${this.id} is still ${order.status}.`);
      order = await this.#client.live({ path: `/v1/orders/${this.id}?wait=${Math.min(remaining, POLL_S)}` });
    }
    return order;
  }

  /** Answer its question with one of the `answers` or its id. */
  answer(choice: Choice | string): Promise<LiveOrder> {
    if (!this.question) throw new TypeError(`Order ${this.id} has no question.`);
    const answer = typeof choice === "string" ? choice : choice.id;
    return this.#post("answer", { question: this.question.id, answer, version: this.version });
  }

  /** Add another utterance, as text or a recording. */
  say(content: string | Blob, options: Pick<NewOrder, "idempotencyKey"> = {}): Promise<LiveOrder> {
    return this.#client.postUtterance(`/v1/orders/${this.id}/utterances`, content, options);
  }

  /** Confirm this cart and total for the customer, or the `cart` as they edited it. */
  confirm(cart?: CartDraft): Promise<LiveOrder> {
    const confirmed = cart ? { cart } : { total: this.cart?.total };
    return this.#post("confirm", { version: this.version, ...confirmed });
  }

  /** Mark it as being made: it can't be cancelled any more. */
  take(): Promise<LiveOrder> {
    return this.#client.live({ path: `/v1/orders/${this.id}/taken`, method: "POST" });
  }

  cancel(): Promise<LiveOrder> {
    return this.#client.live({ path: `/v1/orders/${this.id}/cancel`, method: "POST" });
  }

  #post(name: "answer" | "confirm", body: object): Promise<LiveOrder> {
    return this.#client.live({ path: `/v1/orders/${this.id}/${name}`, ...json(body), repeatable: false });
  }
}

// The fields of the API.
export interface LiveOrder extends Order {}

function json(body: object, headers: Record<string, string> = {}): RequestInit {
  return { method: "POST", body: JSON.stringify(body), headers: { ...headers, "Content-Type": "application/json" } };
}

/** Wait before a retry of `call`; rejects with the error if it shouldn't be retried. */
async function pause(call: Call, error: unknown, tries: number): Promise<void> {
  const problem = error instanceof ProblemError ? error : undefined;
  const retry = problem ? problem.retryable : call.repeatable !== false; // it may have been processed
  const seconds = problem?.retryAfter ?? 2 ** (tries - 1) * (0.5 + Math.random() / 2);
  if (!retry || tries >= TRIES || seconds > MAX_PAUSE_S) {
    throw problem ?? new Unreachable(String(error), { cause: error });
  }
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
}
