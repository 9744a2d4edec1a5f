/** What a check of the account shows. Pure. */
import type { UserFromGetMe, WebhookInfo } from "grammy/types";
import { given } from "./given.ts";

export function probed(bot: UserFromGetMe, { url = "", pending_update_count, last_error_message }: WebhookInfo) {
  const hints = [
    ...(bot.can_read_all_group_messages
      ? []
      : [
          "privacy mode is on: in groups the bot only receives commands, mentions and answers to it; for all messages, write /setprivacy to @BotFather, choose Disable, and add the bot to the group again",
        ]),
    ...(bot.can_join_groups ? [] : ["the bot cannot be added to groups; /setjoingroups at @BotFather changes that"]),
  ];
  return {
    ok: true,
    bot: { id: String(bot.id), name: bot.username },
    mode: url === "" ? "polling" : "webhook",
    pending: pending_update_count,
    ...given("lastDeliveryError", last_error_message),
    ...given("hint", hints.length > 0 ? hints.join("; ") : undefined),
  };
}
