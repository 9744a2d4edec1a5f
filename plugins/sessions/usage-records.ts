/** The service `UsageRecords`. */
import type { UsageDay, UsageRecords } from "@svc/sdk/usage";
import type { UsageStore, UsageSum } from "./usage-store.ts";
import { byDay, totalsOf } from "./usage-summary.ts";

/** Transcripts added up in one read, so that other reads get their turn between. */
const BATCH = 50;

export function createUsageRecords(store: UsageStore, isDefault: (agentId: string) => boolean): UsageRecords {
  return {
    async daily(agentId, { from, to }) {
      const range = { from, to, zone: "local", startDate: "", endDate: "" } as const;
      const ids = await store.transcriptsOf(agentId, isDefault(agentId), from);
      const sums: UsageSum[] = [];
      for (let at = 0; at < ids.length; at += BATCH) sums.push(...(await store.sums(ids.slice(at, at + BATCH), range)));
      const used = sums.filter(({ answers, uncounted }) => answers + uncounted > 0);
      return byDay(used).map(([date, some]): UsageDay => ({ date, ...totalsOf(some) }));
    },
  };
}
