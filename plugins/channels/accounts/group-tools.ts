/** The service `GroupToolPolicy`: tool rules of groups, as their channels read them from the configuration. Spec: http/tools-invoke.md §7.3. */
import type { GroupToolPolicy, GroupToolRules } from "@svc/sdk/tools";
import type { ChannelAccounts } from "./channel-accounts.ts";
import { EVERYBODY } from "../access/admission.ts";

export function createGroupTools(accounts: Pick<ChannelAccounts, "channel" | "account">): GroupToolPolicy {
  return {
    of({ channel, accountId, groupId }) {
      const contribution = accounts.channel(channel);
      const { toolsByGroup = {} } = (contribution && accounts.account(contribution, accountId)?.account) ?? {};
      const rules = Object.entries(toolsByGroup);
      const of = (wanted: string): GroupToolRules | undefined => {
        const found = rules.find(([id]) => id.toLowerCase() === wanted)?.[1]; // keys of sessions are in lower case
        return found?.bySender?.[EVERYBODY] ?? found?.tools;
      };
      return of(groupId.toLowerCase()) ?? of(EVERYBODY);
    },
  };
}
