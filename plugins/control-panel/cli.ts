/** Verb of the control panel. */
import { defineCommands } from "@svc/sdk/cli";

export default defineCommands([]);
