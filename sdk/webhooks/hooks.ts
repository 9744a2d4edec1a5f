/** Hooks on the way of a webhook. The host emits them. */
import { denies, kept, never, recorded } from "../hook-facts.ts";
import { defineHook, defineKeyedHook } from "../hooks.ts";
import type { Principal } from "../principal.ts";
import type { TransformContext } from "../transform.ts";
import type { WebhookFields, WebhookRun } from "./service.ts";

/** Keys are the names plugins use: `gateway.hooks.<key>`. */
export const webhookHooks = {
  webhookTransform: defineKeyedHook<{
    readonly action: string;
    readonly fields: WebhookFields;
    readonly request: Omit<TransformContext, "signal">;
  }>()("waterfall", {
    name: "webhookTransform",
    owner: "host",
    when: "By mapping: a webhook was rendered and its transform has run, before the action looks at it. Spec: §4.5.",
    returns: "Another action or other fields; `request` is only to be read.",
    throws: kept,
  }),
  webhookBefore: defineKeyedHook<{
    readonly mapping: string;
    readonly action: string;
    readonly params: WebhookFields;
    readonly principal: Principal;
  }>()("gate", {
    name: "webhookBefore",
    owner: "host",
    when: "By mapping: what a webhook has become is final and frozen, before it is recorded.",
    returns: "A denial: the sender gets 503, or 400 with code `INVALID_REQUEST`, with the reason.",
    throws: denies,
  }),
  webhookFinished: defineHook<WebhookRun>()("observe", {
    name: "webhookFinished",
    owner: "host",
    when: "An accepted webhook is done or has failed for good.",
    returns: never,
    throws: recorded,
  }),
} as const;
