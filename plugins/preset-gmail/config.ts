/** Section `hooks.gmail`. Spec: http/webhooks.md §9. */
import { type Static, Strict, Type } from "@svc/sdk";

/** A key that would configure a mail watcher. The gateway has none, so the key is refused with the next step. */
const watcher = (key: string, description: string, more: object = {}) =>
  Type.Optional(
    Type.Refine(
      Type.Unknown({ description: `Refused: ${description} of the mail watcher.`, reload: "hot", ...more }),
      () => false,
      () =>
        "this gateway starts no mail watcher; run one next to it, give it the hook token, let it post to " +
        `<url of the gateway><hooks.path>/gmail, then: svc config unset hooks.gmail.${key}`,
    ),
  );

export const GmailConfig = Strict({
  model: Type.Optional(
    Type.String({ minLength: 1, description: "Model that reads the mail. Default: the agent's model." }),
  ),
  thinking: Type.Optional(
    Type.Enum(["off", "minimal", "low", "medium", "high"], {
      description: "Thinking level. Default: the agent's level.",
    }),
  ),
  allowUnsafeExternalContent: Type.Optional(
    Type.Boolean({ description: "Dangerous: passes the mail to the model unmarked. Default false." }),
  ),
  account: watcher("account", "the mailbox"),
  topic: watcher("topic", "the topic"),
  label: watcher("label", "the label"),
  subscription: watcher("subscription", "the subscription"),
  pushToken: watcher("pushToken", "the secret", { sensitive: true }),
  hookUrl: watcher("hookUrl", "the address"),
  includeBody: watcher("includeBody", "a switch"),
  maxBytes: watcher("maxBytes", "a limit"),
  renewEveryMinutes: watcher("renewEveryMinutes", "a time"),
  serve: watcher("serve", "the endpoint"),
  tailscale: watcher("tailscale", "the network"),
});
export type GmailConfig = Static<typeof GmailConfig>;
