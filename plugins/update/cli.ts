/** The commands of this plugin. They work without a running gateway. */
import { defineCommands } from "@svc/sdk/cli";
import { updateVerbs } from "./update-verbs.ts";

export default defineCommands([...updateVerbs]);
