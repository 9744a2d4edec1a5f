/** The commands `svc update ...`, which also work without a running gateway. */
import { defineCommands } from "@svc/sdk/cli";
import { updateVerbs } from "./update-verbs.ts";

export default defineCommands([...updateVerbs]);
