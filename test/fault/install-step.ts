/** One install in a process of its own that kills itself before the n-th thing it does to the disk. Used by install-kill.test.ts. */
import { type InstallFiles, realEffects } from "../../plugins/plugins/install/effects.ts";
import { createInstaller } from "../../plugins/plugins/install/installer.ts";

/** What the process is told as its argument. */
export interface StepOrder {
  readonly stateDir: string;
  readonly spec: string;
  /** 0: it is left alone. */
  readonly dieBefore: number;
  /** Take it away instead. */
  readonly remove?: string;
}

const order = JSON.parse(process.argv[2] ?? "") as StepOrder;
let count = 0;

/** Everything that is done to the disk, and each program that is run, is one. */
function point(): void {
  count += 1;
  if (count === order.dieBefore) process.kill(process.pid, "SIGKILL");
}

/** The same function, counted. */
function counted<F extends (...args: never[]) => unknown>(call: F): F {
  return ((...args: never[]) => {
    point();
    return call(...args);
  }) as F;
}

const files = Object.fromEntries(
  Object.entries(realEffects.files).map(([name, call]) => [name, counted(call as () => unknown)]),
) as unknown as InstallFiles;

const installer = createInstaller({
  stateDir: order.stateDir,
  home: order.stateDir,
  env: process.env,
  actor: "test",
  holderOf: () => undefined,
  progress: point,
  effects: {
    files,
    trial: counted(realEffects.trial),
    run: counted(realEffects.run),
  },
});
if (order.remove === undefined) await installer.install(order.spec, { agree: () => true });
else await installer.remove(order.remove);
process.stdout.write(String(count));
