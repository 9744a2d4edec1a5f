/** The namespace `storage` and the hourly cleaning, the same for every provider of `Storage`. */
import type { PluginGateway, Requirements } from "@svc/sdk";
import { Retention, storage as contract } from "@svc/sdk/storage";
import { createKeeper, type Engine } from "./keeper.ts";

/** Choice: milliseconds from the start to the first cleaning, and between two cleanings. */
const FIRST_CLEANING_MS = 60_000;
const CLEANING_MS = 3_600_000;

/** @param stateDir state directory of the gateway */
export function serveStorage<C, R extends Requirements>(
  gateway: PluginGateway<C, R>,
  engine: Engine,
  stateDir: () => string,
): void {
  const { clock, log, signal } = gateway;
  const keeper = createKeeper({ ...engine, view: gateway.own(Retention), clock, log, stateDir, signal });
  gateway.serve(contract, {
    usage: () => keeper.usage(),
    async clean({ params: { dryRun = false, vacuum = false } }) {
      const items = await keeper.clean(dryRun);
      return vacuum && !dryRun ? { items, vacuum: await engine.rewrite() } : { items };
    },
  });
  const clean = async () => void (await keeper.clean(false));
  gateway.after(FIRST_CLEANING_MS, clean);
  gateway.every(CLEANING_MS, clean);
}
