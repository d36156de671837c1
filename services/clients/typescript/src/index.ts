/** saycart's client: order by text or speech, answer questions, confirm, and verify webhooks. */

export { LiveOrder, Saycart } from "./client.js";
export type { NewOrder } from "./client.js";
export * from "./errors.js";
export type * from "./models.js";
export { verify } from "./webhooks.js";
