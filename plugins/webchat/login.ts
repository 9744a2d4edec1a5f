/** Login: the origins of the pages. There is no network to ask. */
import { invalidRequest } from "@svc/sdk";
import type { ChannelLoginSteps } from "@svc/sdk/channels";
import { originOf } from "./config.ts";

export const login: ChannelLoginSteps = {
  start: () => ({
    kind: "form",
    message: "Visitors of your website talk to the agent in a chat window of the page.",
    fields: [
      {
        key: "allowedOrigins",
        label: "Origins of the pages",
        help: "as in the address bar, without a path, separated by commas, e.g. https://example.com, https://www.example.com",
      },
    ],
  }),

  async next({ accountId, answers }) {
    const entered = (answers["allowedOrigins"] ?? "").split(/[\s,]+/).filter((text) => text !== "");
    if (entered.length === 0) invalidRequest("no origin was entered; write one as https://example.com");
    const allowedOrigins = entered.map(
      (text) => originOf(text) ?? invalidRequest(`"${text}" is not an origin; write it as https://example.com`),
    );
    return {
      kind: "done",
      message: `Add this line to the pages, with the address at which browsers reach this gateway: <script src="https://gateway.example.com/plugins/webchat/widget.js" data-account="${accountId}" async></script>`,
      config: { allowedOrigins: [...new Set(allowedOrigins)] },
    };
  },
};
