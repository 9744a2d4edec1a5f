/** The mapping for mail in the format of a mail watcher. Spec: http/webhooks.md §9. Pure. */
import type { WebhookMapping, WebhookPreset } from "@svc/sdk/webhooks";
import type { GmailConfig } from "./config.ts";

const MESSAGE = [
  "A mail has arrived.",
  "From: {{messages[0].from}}",
  "Subject: {{messages[0].subject}}",
  "Snippet: {{messages[0].snippet}}",
  "",
  "{{messages[0].body}}",
].join("\n");

/** `POST {hooks.path}/gmail`. Only the first of several messages is used: the watcher posts one at a time. */
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
  return { summary: "Mail from a mail watcher: an agent reads it", mappings: [mapping] };
}
