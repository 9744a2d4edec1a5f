/** A process of hostile clients: `attacker.js <JSON of Order>`. Runs until it is ended. */
import { setMaxListeners } from "node:events";
import { setPriority } from "node:os";
import { behaviourOf, mixed } from "./behaviours.ts";
import { randomFrom, type Target } from "./target.ts";

export interface Order {
  readonly target: Target;
  readonly behaviour: string;
  readonly seed: number;
  readonly lanes: number;
}

const { target, behaviour: name, seed, lanes } = JSON.parse(process.argv[2] ?? "") as Order;
const behaviour = name === "mixed" ? mixed : behaviourOf(name);
if (!behaviour) throw new Error(`no behaviour is called ${name}`);
setPriority(19); // the watcher shares its core and must not wait for it
process.once("disconnect", () => process.exit(0));
setMaxListeners(0); // one for each socket of a lane
const { signal } = new AbortController();
await Promise.all(
  Array.from({ length: lanes }, (_, lane) => behaviour({ target, signal, random: randomFrom(seed + lane) })),
);
