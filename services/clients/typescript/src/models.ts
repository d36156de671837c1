/** Names for the API's types, which are generated (`schema.ts`). */

import type { components } from "./schema.js";

type Schemas = components["schemas"];

export type Cart = Schemas["Cart"];
export type CartDraft = Schemas["CartDraft"];
export type Choice = Schemas["Choice"];
export type Order = Schemas["Order"];
export type Problem = Schemas["Problem"];
export type Question = Schemas["Question"];
export type WebhookMessage = Schemas["WebhookMessage"];
