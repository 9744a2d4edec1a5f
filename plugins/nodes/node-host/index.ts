/** The node program: what `svc node run` executes on a machine that is to be a node. */
export { nodeRun } from "./node-run.ts";
