/** Hooks on the way of a webhook. The host emits those before the record, the plugin that keeps the records the others. */
import { denies, kept, never, recorded, refuses } from "../hook-facts.ts";
import { defineHook, defineKeyedHook } from "../hooks.ts";
import type { Principal } from "../principal.ts";
import type { TransformContext } from "../transform.ts";
import type { WebhookRun } from "./contract.ts";
import type { AcceptedWebhook, WebhookFields, WebhookReceipt } from "./service.ts";
import type { TransformCall, TransformOutcome, WebhookTransformRef } from "./transforms.ts";

/** Choice: milliseconds a storage may take; longer than any storage waits for another program that holds its file. */
const STORAGE_MS = 120_000;
/** Choice: milliseconds a transform may take; its own deadline, at most 60 s, and the first compilation of its file. */
const TRANSFORM_MS = 120_000;

/** Keys are the names plugins use: `gateway.hooks.<key>`. */
export const webhookHooks = {
  webhookTransformFile: defineHook<
    { readonly mapping: string; readonly transform: WebhookTransformRef; readonly call: TransformCall },
    TransformOutcome
  >()("first", {
    name: "webhookTransformFile",
    owner: "host",
    when: "A webhook was rendered, and its mapping names a file of the transforms directory. Its sender waits.",
    returns: "What the file made of the request. Nobody answers: the sender gets 503, and nothing is recorded.",
    throws: refuses,
    refuses: true,
    deadlineMs: TRANSFORM_MS,
  }),
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
  webhookAccept: defineHook<AcceptedWebhook, WebhookReceipt>()("first", {
    name: "webhookAccept",
    owner: "host",
    when: "Nobody has denied a webhook: it is to be recorded now. Its sender waits.",
    returns: "A receipt: the record is durable. Nobody answers: the sender gets 503.",
    throws: refuses,
    refuses: true,
    deadlineMs: STORAGE_MS,
  }),
  webhookRun: defineHook<{ readonly runId: string }, { readonly run: WebhookRun | undefined }>()("first", {
    name: "webhookRun",
    owner: "host",
    when: "A sender asks for one of its runs.",
    returns: "The run, or that there is none. Nobody answers: the sender gets 503.",
    throws: refuses,
    refuses: true,
    deadlineMs: STORAGE_MS,
  }),
  webhookFinished: defineHook<WebhookRun>()("observe", {
    name: "webhookFinished",
    owner: "webhooks",
    when: "An accepted webhook is done or has failed for good.",
    returns: never,
    throws: recorded,
  }),
} as const;
