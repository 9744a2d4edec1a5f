/** The node program that `svc node run` executes. */
export { nodeRun } from "./node-run.ts";
