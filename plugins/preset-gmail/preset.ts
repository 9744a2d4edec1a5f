/** The mapping for mail as a mail watcher posts it. Spec: http/webhooks.md §9. Pure. */
import type { WebhookMapping, WebhookPreset } from "@svc/sdk/webhooks";
import type { GmailConfig } from "./config.ts";

const MESSAGE = [
  "A mail has come in.",
  "From: {{messages[0].from}}",
  "Subject: {{messages[0].subject}}",
  "In short: {{messages[0].snippet}}",
  "",
  "{{messages[0].body}}",
].join("\n");

/** `POST {hooks.path}/gmail`. Of several messages the first is taken: the watcher posts one at a time. */
export function gmailPreset({ model, thinking, allowUnsafeExternalContent }: GmailConfig): WebhookPreset {
  const mapping: WebhookMapping = {
    id: "gmail",
    match: { path: "gmail" },
    action: "agent",
    wakeMode: "now",
    name: "Gmail",
    sessionKey: "hook:gmail:{{messages[0].id}}",
    idempotencyKey: "{{messages[0].id}}",
    messageTemplate: MESSAGE,
    contentSource: "email",
    ...(model === undefined ? {} : { model }),
    ...(thinking === undefined ? {} : { thinking }),
    ...(allowUnsafeExternalContent === undefined ? {} : { allowUnsafeExternalContent }),
  };
  return { summary: "Mail that a mail watcher posts: an agent reads it", mappings: [mapping] };
}
