/** A node program in the process of the test, with a temporary state directory. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { runNodeProgram } from "../../../../plugins/nodes/node-host/node-program.ts";
import type { NodeState } from "../../../../plugins/nodes/node-host/node-states.ts";
import type { SharedSecret } from "../../../../plugins/nodes/node-host/target.ts";
import { directory } from "../../../directory.ts";
import { until } from "../../webhook-scene.ts";

export interface NodeOptions {
  readonly secret?: SharedSecret;
  readonly stateDir?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly policy?: object;
}

/** A state directory for nodes. @param policy of its policy file; default: there is none */
export function nodeState(t: TestContext, policy?: object): string {
  const stateDir = directory(t, "svc-node-");
  if (policy) writeFileSync(join(stateDir, "exec-approvals.json"), JSON.stringify(policy), { mode: 0o600 });
  return stateDir;
}

export function startNode(t: TestContext, url: string, options: NodeOptions = {}) {
  const { secret = { token: "shared-secret" }, policy, env } = options;
  const stateDir = options.stateDir ?? nodeState(t, policy);
  const states: NodeState[] = [];
  const ending = new AbortController();
  const ended = runNodeProgram({
    target: { url, secret: Object.keys(secret).length === 0 ? undefined : secret },
    stateDir,
    displayName: "workshop",
    signal: ending.signal,
    cwd: stateDir,
    random: () => 0,
    ...(env ? { env } : {}),
    report: (state) => void states.push(state),
  });
  const stop = () => {
    ending.abort();
    return ended;
  };
  t.after(stop);
  return {
    stateDir,
    states,
    /** Its exit code. */
    ended,
    stop,
    /** Resolves with the first state, seen or still to come, that fits. */
    async until<S extends NodeState["state"]>(wanted: S, fits: (told: NodeState) => boolean = () => true) {
      const find = () => states.find((one): one is NodeState & { state: S } => one.state === wanted && fits(one));
      await until(() => find() !== undefined, `the state ${wanted}`);
      return find() ?? assert.fail();
    },
  };
}
