/** The commands of this plugin. They work without a running gateway. */
import { defineCommands } from "@svc/sdk/cli";
import { doctorVerb } from "./doctor/doctor-verb.ts";
import { serviceVerbs } from "./service/service-verbs.ts";
import { updateVerbs } from "./update-verbs.ts";

export default defineCommands([...updateVerbs, doctorVerb, ...serviceVerbs]);
