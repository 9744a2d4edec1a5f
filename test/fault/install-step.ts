/** One install in its own process, which kills itself before its n-th disk operation. Used by install-kill.test.ts. */
import { type InstallFiles, realEffects } from "../../plugins/plugins/install/effects.ts";
import { createInstaller } from "../../plugins/plugins/install/installer.ts";

/** The argument of the process. */
export interface StepOrder {
  readonly stateDir: string;
  readonly spec: string;
  /** 0: not killed. */
  readonly dieBefore: number;
  /** Uninstall instead. */
  readonly remove?: string;
}

const order = JSON.parse(process.argv[2] ?? "") as StepOrder;
let count = 0;

/** Each disk operation and each program run counts as one step. */
function point(): void {
  count += 1;
  if (count === order.dieBefore) process.kill(process.pid, "SIGKILL");
}

/** Wraps a function to count its calls. */
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
