/** What accounts remember between their runs. Table `channel_account_state`. */
import type { Clock } from "@svc/sdk";
import type { StateRecord } from "@svc/sdk/channels";
import type { OpenStorage } from "../open-storage.ts";
import type { AccountRun } from "./account.ts";
import type { OwnedAccounts } from "./owned-accounts.ts";

/** @param owned decides who may write the state of an account that is not shared */
export function createStateStore(
  storage: OpenStorage,
  owned: Pick<OwnedAccounts, "holds">,
  clock: Pick<Clock, "now">,
): (run: AccountRun) => StateRecord {
  return ({ channel, id, account }) => ({
    async read() {
      const sql = "SELECT body FROM channel_account_state WHERE channel = ? AND account_id = ?";
      return (await (await storage.get()).get<{ body: string }>(sql, [channel, id]))?.body;
    },
    async write(body) {
      const held = account.isShared === true ? { sql: "1 = 1", params: [] } : owned.holds(channel, id);
      const sql = `INSERT INTO channel_account_state (channel, account_id, body, updated_at)
        SELECT ?, ?, ?, ? WHERE ${held.sql}
        ON CONFLICT (channel, account_id) DO UPDATE SET body = excluded.body, updated_at = excluded.updated_at`;
      const params = [channel, id, body, clock.now(), ...held.params];
      await (await storage.get()).transaction([{ sql, params, expectChanges: 1 }]);
    },
  });
}
