/** Process in which one plugin is checked; see `check-task.ts`. */
import { messageOf } from "@svc/sdk/errors";
import { watchStrayErrors } from "@svc/host";
import { checkPlugin, type CheckTask } from "./check-task.ts";
import { DONE, failed, type Finding } from "./findings.ts";

const send = (finding: Finding | typeof DONE) => void process.send?.(finding);
watchStrayErrors((error) => {
  const why = `unawaited code threw: ${messageOf(error)}`;
  send({ check: "stray errors", problems: [failed(why, "await the code, or catch its errors")] });
});
await checkPlugin(JSON.parse(process.argv[2] ?? "") as CheckTask, send); // written by check.ts
process.send?.(DONE, () => process.exit()); // open resources were already reported
