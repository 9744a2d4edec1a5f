/** Login: asks for the token of the bot, and checks it with Telegram. */
import { invalidRequest, isGatewayError } from "@svc/sdk";
import type { ChannelLoginSteps } from "@svc/sdk/channels";
import { getMe } from "./api.ts";

/** @param apiRootOf address of the Bot API server of an account */
export function loginSteps(apiRootOf: (accountId: string) => string): ChannelLoginSteps {
  return {
    start: () => ({
      kind: "form",
      message: "Make a bot in Telegram: write /newbot to @BotFather, and choose a name.",
      fields: [
        {
          key: "botToken",
          label: "Token of the bot",
          help: "@BotFather shows it after /newbot, and later with /mybots, API Token. It looks like 123456789:AAF-abc.",
          secret: true,
        },
      ],
    }),
    async next({ accountId, answers, signal }) {
      const token = (answers["botToken"] ?? "").trim();
      if (!/^\d+:[\w-]+$/.test(token))
        invalidRequest("this is not a token: it is a number, a colon and letters; copy it from @BotFather (/mybots)");
      const bot = await getMe({ token, apiRoot: apiRootOf(accountId) }, signal).catch((error: unknown) => {
        if (isGatewayError(error) && error.code === "NOT_LINKED")
          invalidRequest("Telegram does not know this token; copy it again from @BotFather (/mybots, API Token)");
        throw error;
      });
      return {
        kind: "done",
        message: `The bot is @${bot.username} (${bot.first_name}). Write to it: https://t.me/${bot.username}`,
        config: { botToken: token },
      };
    },
  };
}
