/** Hooks of webhooks. The host emits those up to the record; the plugin that stores the records emits the others. */
import { denies, kept, never, recorded, refuses } from "../hook-facts.ts";
import { defineHook, defineKeyedHook } from "../hooks.ts";
import type { Principal } from "../principal.ts";
import type { TransformContext } from "../transform.ts";
import type { WebhookRun } from "./contract.ts";
import type { AcceptedWebhook, WebhookFields, WebhookReceipt } from "./service.ts";
import type { TransformCall, TransformOutcome, WebhookTransformRef } from "./transforms.ts";

/** Choice: milliseconds a storage may take; longer than any storage waits for another program that locks its file. */
const STORAGE_MS = 120_000;
/** Choice: milliseconds a transform may take: its own deadline, at most 60 s, plus the first compilation of its file. */
const TRANSFORM_MS = 120_000;

/** Keys are the names plugins use: `gateway.hooks.<key>`. */
export const webhookHooks = {
  webhookTransformFile: defineHook<
    { readonly mapping: string; readonly transform: WebhookTransformRef; readonly call: TransformCall },
    TransformOutcome
  >()("first", {
    name: "webhookTransformFile",
    owner: "host",
    when: "A webhook was rendered, and its mapping names a file of the transforms directory. The sender is waiting.",
    returns:
      "The outcome of the file for the request. If no tap answers, the sender gets 503, and nothing is recorded.",
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
    when: "By mapping: a webhook was rendered and its transform has run, before the action checks it. Spec: §4.5.",
    returns: "Another action or other fields; `request` is read-only.",
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
    when: "By mapping: the action and params of a webhook are final and frozen, before it is recorded.",
    returns: "A denial: the sender gets 503, or 400 with code `INVALID_REQUEST`, with the reason.",
    throws: denies,
  }),
  webhookAccept: defineHook<AcceptedWebhook, WebhookReceipt>()("first", {
    name: "webhookAccept",
    owner: "host",
    when: "No tap has denied a webhook, and it is to be recorded now. The sender is waiting.",
    returns: "A receipt: the record is durable. If no tap answers, the sender gets 503.",
    throws: refuses,
    refuses: true,
    deadlineMs: STORAGE_MS,
  }),
  webhookRun: defineHook<{ readonly runId: string }, { readonly run: WebhookRun | undefined }>()("first", {
    name: "webhookRun",
    owner: "host",
    when: "A sender requests one of its runs.",
    returns: "The run, or that it does not exist. If no tap answers, the sender gets 503.",
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
