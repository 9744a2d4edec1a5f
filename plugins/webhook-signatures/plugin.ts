/** Signed webhooks: authenticates senders by the signatures of common services. */
import { definePlugin } from "@svc/sdk";
import { WebhookVerifier } from "@svc/sdk/webhooks";
import { github } from "./github.ts";
import { createHmacVerifier } from "./hmac-verifier.ts";
import { slack } from "./slack.ts";
import { standardWebhooks } from "./standard-webhooks.ts";
import { stripe } from "./stripe.ts";

export default definePlugin({
  id: "webhook-signatures",
  api: "^1.0.0",
  setup(gateway) {
    for (const scheme of [github, stripe, slack, standardWebhooks]) {
      gateway.extend(WebhookVerifier, scheme.id, createHmacVerifier(scheme));
    }
  },
});
