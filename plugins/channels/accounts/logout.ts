/** Handler of `channels.logout`. Spec: protocol/methods-channels.md §2. */
import { type Handler, invalidRequest, unavailable } from "@svc/sdk";
import type { channels } from "@svc/sdk/channels";
import { secretsOf, toldError } from "./hidden.ts";
import type { ChannelAccounts } from "./channel-accounts.ts";

/** @param signal aborts when the plugin stops */
export function createLogout(accounts: ChannelAccounts, signal: AbortSignal): Handler<typeof channels.logout> {
  return async ({ params }) => {
    const { contribution, account, run } = accounts.chosenAccount(accounts.chosen(params.channel), params.accountId);
    const { id, value } = contribution;
    if (!value.logout) {
      invalidRequest(
        `channel ${id} has no logout; remove its login from the configuration: svc config unset channels.${id}`,
      );
    }
    const { id: accountId, settings } = account;
    if (run) await accounts.loggedOut(run);
    try {
      const receipt = await accounts.call(contribution, async (channel) =>
        channel.logout?.({ accountId, settings, signal }),
      );
      const { cleared = false, loggedOut } = receipt ?? {};
      const isOut = cleared || loggedOut === true;
      if (run && !isOut) accounts.restart(run);
      return { channel: id, accountId, cleared, ...(isOut ? { loggedOut: loggedOut ?? cleared } : {}) };
    } catch (error) {
      if (run) accounts.restart(run); // it is probably still logged in
      return unavailable(`channel ${id} could not log out: ${toldError(error, secretsOf(settings))}`);
    }
  };
}
