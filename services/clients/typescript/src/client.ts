/** The client: `await (await new Saycart(key).order("a latte", { menu: "cafe" })).wait()`. */

import { NotSettled, ProblemError, refused, Unreachable } from "./errors.js";
import type { CartDraft, Choice, Order, OrderEvent } from "./models.js";

const URL_HERE = "http://127.0.0.1:8420";
const TIMEOUT_MS = 40_000;
const POLL_S = 25; // of one long poll; the API allows 30
const TRIES = 4;
const LONGEST_PAUSE_S = 30;
const AGAIN_S = 1; // until a stream of events that ended early is opened again
const MOVING = ["queued", "processing"];
const ENDED = ["completed", "rejected", "error", "cancelled"];

export interface NewOrder {
  /** The menu's id; may be left out with a recording if the shop has only one. */
  menu?: string;
  /** Show the cart to the customer before the order is completed. */
  confirm?: boolean;
  /** A note of yours of up to 8000 bytes, which comes back with the order. */
  metadata?: Record<string, unknown>;
  /** The same key and order bring back the first one; by default a new key. */
  idempotencyKey?: string;
}

interface Call extends RequestInit {
  path: string;
  /** False where to send it twice is not the same as once. */
  repeatable?: boolean;
}

/**
 * One shop, by its key. Calls reject with the errors of `errors.ts`; what may be repeated is sent again,
 * after the time that the API asks for.
 */
export class Saycart {
  readonly #url: string;
  readonly #fetch: typeof fetch;

  /** `url`: by default http://127.0.0.1:8420; `fetch`: one of your own, with a proxy or certificates. */
  constructor(readonly key: string, options: { url?: string; fetch?: typeof fetch } = {}) {
    this.#url = (options.url ?? URL_HERE).replace(/\/$/, "");
    this.#fetch = options.fetch ?? fetch.bind(globalThis);
  }

  /** Order by text, or by a recording. */
  async order(what: string | Blob, wish: NewOrder = {}): Promise<LiveOrder> {
    return this.said("/v1/orders", what, wish);
  }

  async said(path: string, what: string | Blob, wish: NewOrder): Promise<LiveOrder> {
    const { idempotencyKey = crypto.randomUUID(), ...fields } = wish;
    const headers = { "Idempotency-Key": idempotencyKey };
    if (typeof what === "string") {
      return this.live({ path, ...json({ transcript: what, ...fields }, headers) });
    }
    const body = new FormData();
    // The API looks at the first bytes, not at the name, which only says that this is a file.
    body.set("audio", what, "order");
    for (const [name, value] of Object.entries(fields)) {
      if (value !== undefined) body.set(name, typeof value === "string" ? value : JSON.stringify(value));
    }
    return this.live({ path, method: "POST", body, headers });
  }

  /** Get an order by its id. */
  get(id: string): Promise<LiveOrder> {
    return this.live({ path: `/v1/orders/${id}` });
  }

  /** Send a call, again where that is safe and may help; the answer's JSON. */
  async send<T>(call: Call): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        const response = await this.open(call, AbortSignal.timeout(TIMEOUT_MS));
        return (await response.json()) as T;
      } catch (error) {
        await pause(call, error, tries);
      }
    }
  }

  /** Send a call once; the answer, if it is a success. */
  async open(call: Call, signal?: AbortSignal): Promise<Response> {
    const { path, repeatable, ...init } = call;
    const headers = { ...init.headers, Authorization: `Bearer ${this.key}` };
    const response = await this.#fetch(this.#url + path, { ...init, headers, signal: signal ?? null });
    if (!response.ok) throw await refused(response);
    return response;
  }

  async live(call: Call): Promise<LiveOrder> {
    return new LiveOrder(this, await this.send<Order>(call));
  }
}

/** An order as it was read, and what can be done with it; each call gives it back as it then is. */
export class LiveOrder {
  readonly #client: Saycart;

  constructor(client: Saycart, order: Order) {
    this.#client = client;
    Object.assign(this, order);
  }

  /** Wait until it has ended, or waits for its customer or the staff; rejects with NotSettled. */
  async wait(timeoutS = 120): Promise<LiveOrder> {
    const end = Date.now() + timeoutS * 1000;
    let found: LiveOrder = this;
    while (MOVING.includes(found.status)) {
      const left = (end - Date.now()) / 1000;
      if (left <= 0) throw new NotSettled(`Order ${this.id} is still ${found.status}.`);
      found = await this.#client.live({ path: `/v1/orders/${this.id}?wait=${Math.min(left, POLL_S)}` });
    }
    return found;
  }

  /** Answer its question by one of the `answers`, or that one's id. */
  answer(choice: Choice | string): Promise<LiveOrder> {
    if (!this.question) throw new TypeError(`Order ${this.id} has no question.`);
    const answer = typeof choice === "string" ? choice : choice.id;
    return this.#post("answer", { question: this.question.id, answer, version: this.version });
  }

  /** Add what the customer says or types next, by text or by a recording. */
  say(what: string | Blob, more: Pick<NewOrder, "idempotencyKey"> = {}): Promise<LiveOrder> {
    return this.#client.said(`/v1/orders/${this.id}/utterances`, what, more);
  }

  /** Say the customer's yes to this cart and total, or to the `cart` they made of it. */
  confirm(cart?: CartDraft): Promise<LiveOrder> {
    const seen = cart ? { cart } : { total: this.cart?.total };
    return this.#post("confirm", { version: this.version, ...seen });
  }

  /** Take it: the shop makes it now, and it can't be cancelled any more. */
  take(): Promise<LiveOrder> {
    return this.#client.live({ path: `/v1/orders/${this.id}/taken`, method: "POST" });
  }

  cancel(): Promise<LiveOrder> {
    return this.#client.live({ path: `/v1/orders/${this.id}/cancel`, method: "POST" });
  }

  /** Follow it from its first event to its end, over as many streams as that takes. */
  async *events(): AsyncGenerator<OrderEvent, void> {
    let after = 0;
    for (let tries = 1; ; tries++) {
      const call: Call = { path: `/v1/orders/${this.id}/events`, headers: { "Last-Event-ID": String(after) } };
      try {
        const response = await this.#client.open(call);
        if (response.status === 204 || !response.body) return; // it had ended before
        for await (const line of lines(response.body)) {
          tries = 1;
          if (!line.startsWith("data:")) continue;
          const event = JSON.parse(line.slice("data:".length)) as OrderEvent;
          yield event;
          after = event.seq;
          if (ENDED.includes(event.status)) return;
        }
        await sleep(AGAIN_S);
      } catch (error) {
        await pause(call, error, tries);
      }
    }
  }

  #post(name: "answer" | "confirm", body: object): Promise<LiveOrder> {
    return this.#client.live({ path: `/v1/orders/${this.id}/${name}`, ...json(body), repeatable: false });
  }
}

// All that the API shows of it.
export interface LiveOrder extends Order {}

function json(body: object, headers: Record<string, string> = {}): RequestInit {
  return { method: "POST", body: JSON.stringify(body), headers: { ...headers, "Content-Type": "application/json" } };
}

async function* lines(body: ReadableStream<BufferSource>): AsyncGenerator<string, void> {
  let rest = "";
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    const found = (rest + chunk).split("\n");
    rest = found.pop() ?? "";
    yield* found;
  }
}

/** Wait before `call` is sent again; rejects where it should not be, or not so soon. */
async function pause(call: Call, error: unknown, tries: number): Promise<void> {
  const refusal = error instanceof ProblemError ? error : undefined;
  const wrong = refusal ?? new Unreachable(String(error), { cause: error });
  const again = refusal ? refusal.retryable : call.repeatable !== false; // it may have happened
  const seconds = refusal?.retryAfter ?? 2 ** (tries - 1) * (0.5 + Math.random() / 2);
  if (!again || tries >= TRIES || seconds > LONGEST_PAUSE_S) throw wrong;
  await sleep(seconds);
}

function sleep(seconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1000));
}
