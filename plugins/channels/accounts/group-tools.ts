/** The service `GroupToolPolicy`: tool rules of groups, as their channels read them from the configuration. Spec: http/tools-invoke.md §7.3. */
import type { GroupToolPolicy, GroupToolRules } from "@svc/sdk/tools";
import { EVERYBODY } from "../access/admission.ts";
import { senderIn } from "../access/sender.ts";
import type { ChannelAccounts } from "./channel-accounts.ts";

export function createGroupTools(accounts: Pick<ChannelAccounts, "channel" | "account">): GroupToolPolicy {
  return {
    of({ channel, accountId, groupId, threadId, principalId = "" }) {
      const contribution = accounts.channel(channel);
      const account = contribution && accounts.account(contribution, accountId)?.account;
      if (!account) return undefined;
      const rules = Object.entries(account.toolsByGroup ?? {});
      const people = [senderIn(principalId, channel, account.id) ?? EVERYBODY, EVERYBODY];
      const of = (wanted: string): GroupToolRules | undefined => {
        const { bySender = {}, tools } = rules.find(([id]) => id.toLowerCase() === wanted)?.[1] ?? {}; // keys of sessions are in lower case
        const listed = people.find((person) => Object.hasOwn(bySender, person));
        return listed === undefined ? tools : bySender[listed];
      };
      const ids = [...(threadId === undefined ? [] : [threadId]), groupId, EVERYBODY];
      return ids.map((id) => of(id.toLowerCase())).find((found) => found !== undefined);
    },
  };
}
