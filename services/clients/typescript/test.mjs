/** `npm test`: the built client against the service at SAYCART, with the key KEY. */

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";

import * as client from "./dist/index.js";

const { KEY, SAYCART } = process.env;
const TEXT = "a latte and a blueberry muffin";
const saycart = new client.Saycart(KEY, { url: SAYCART });
const ordered = (what = TEXT, more = {}) => saycart.order(what, { menu: "harbor-coffee", ...more });

const recording = new Blob([Buffer.from(process.env.RECORDING ?? "", "base64")]);
for (const [name, what] of Object.entries({ text: TEXT, recording })) {
  test(`an order by ${name} is asked about, confirmed and taken`, async () => {
    let order = await (await ordered(what, { confirm: true, metadata: { table: 7 } })).wait();
    order = await order.answer(order.question.answers[0]);
    assert.deepEqual([order.status, order.metadata], ["needs_confirmation", { table: 7 }]);
    order = await (await order.say(what)).wait();
    assert.deepEqual([order.status, order.utterances.length], ["needs_confirmation", 2]);
    order = await (await order.confirm()).take();
    assert.deepEqual([order.status, order.cart.total], ["completed", 820]);
  });
}

const refusals = {
  InvalidRequest: () => saycart.order(TEXT, { menu: "nowhere" }),
  NotFound: () => saycart.get("ord_0"),
  NotAllowed: () => new client.Saycart("wrong", { url: SAYCART }).get("ord_0"),
  Conflict: async () => (await (await ordered()).cancel()).confirm(),
  NotSettled: async () => (await ordered()).wait(0),
};
for (const [name, call] of Object.entries(refusals)) {
  test(`${name} is an error of its kind`, () => assert.rejects(call, client[name]));
}

for (const [status, after, error, sent] of [
  [503, 0, client.Unavailable, 4],
  [503, 3600, client.Unavailable, 1],
  [409, 0, client.Conflict, 1],
]) {
  test(`${status} with Retry-After ${after} is sent ${sent} times`, async () => {
    const keys = [];
    const answer = async (_, { headers }) => {
      keys.push(headers["Idempotency-Key"]);
      const problem = { status, detail: "", hint: "", retryable: status === 503, errors: [] };
      const shown = { "Content-Type": "application/problem+json", "Retry-After": String(after) };
      return new Response(JSON.stringify(problem), { status, headers: shown });
    };
    await assert.rejects(new client.Saycart(KEY, { fetch: answer }).order(TEXT), error);
    assert.deepEqual([keys.length, new Set(keys).size], [sent, 1]);
  });
}

test("a webhook is believed by its signature alone", async () => {
  const secret = `whsec_${Buffer.from("secret").toString("base64")}`;
  const signed = (body, sentAt) => {
    const hmac = createHmac("sha256", "secret").update(`msg_1.${sentAt}.${body}`).digest("base64");
    return { "webhook-id": "msg_1", "webhook-timestamp": String(sentAt), "webhook-signature": `v1,${hmac}` };
  };
  const now = Math.floor(Date.now() / 1000);
  const body = '{"type": "order.completed"}';
  assert.equal((await client.verify(body, signed(body, now), secret)).type, "order.completed");
  await assert.rejects(client.verify(body, signed("{}", now), secret), client.InvalidSignature);
  await assert.rejects(client.verify(body, signed(body, now - 360), secret), client.InvalidSignature);
  await assert.rejects(client.verify(body, {}, secret), client.InvalidSignature);
});
