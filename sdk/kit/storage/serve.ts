/** What is the same for every provider of `Storage`: the namespace `storage`, the hourly cleaning, and the service `Ownership`. */
import { hostname } from "node:os";
import { type PluginGateway, type Requirements } from "@svc/sdk";
import { type Owner, Ownership, Retention, storage as contract } from "@svc/sdk/storage";
import { sharedClock } from "../ownership.ts";
import { createKeeper, type Engine } from "./keeper.ts";
import { createOwnership, MEMBERS_RETENTION, type OwnershipParts } from "./ownership.ts";

/** Choice: milliseconds from the start to the first cleaning, and between two cleanings. */
const FIRST_CLEANING_MS = 60_000;
const CLEANING_MS = 3_600_000;
/** What the gateway owns that deletes expired rows for all. */
const CLEANING = "storage/cleaning";

/**
 * @param stateDir state directory of the gateway
 * @returns `join` is to be called once the storage is open, `leave` before it closes
 */
export function serveStorage<C, R extends Requirements>(
  gateway: PluginGateway<C, R>,
  engine: Engine,
  stateDir: () => string,
): Pick<OwnershipParts, "join" | "leave"> {
  const { clock, log, signal } = gateway;
  const parts = createOwnership({ ...engine, clock, log, name: hostname() });
  gateway.provide(Ownership, parts.ownership);
  gateway.extend(Retention, "ownership", MEMBERS_RETENTION);
  let owner: Owner | undefined;
  const fence = async (isAsked: boolean) => {
    if (owner?.isCurrent !== true) owner = await parts.ownership.owner();
    if (isAsked) await owner.seize(CLEANING);
    else if (!(await owner.take(CLEANING))) return undefined;
    return owner.holds(CLEANING);
  };
  const clockOfAll = sharedClock(clock, parts.ownership);
  const view = gateway.own(Retention);
  const keeper = createKeeper({ ...engine, view, fence, clock: clockOfAll, log, stateDir, signal });
  gateway.serve(contract, {
    usage: () => keeper.usage(),
    async clean({ params: { dryRun = false, vacuum = false } }) {
      const items = await keeper.clean(dryRun, true);
      return vacuum && !dryRun ? { items, vacuum: await engine.rewrite() } : { items };
    },
  });
  const clean = async () => {
    try {
      await keeper.clean(false);
    } catch (err) {
      log.warn({ err }, "expired data could not be deleted; retrying within the hour");
    }
  };
  gateway.after(FIRST_CLEANING_MS, clean);
  gateway.every(CLEANING_MS, clean);
  return parts;
}
