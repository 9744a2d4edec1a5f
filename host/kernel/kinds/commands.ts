/** Commands a plugin adds to the CLI, as listed in its package.json. */
import { Type } from "@svc/sdk";
import { defineKind } from "../kind.ts";

export const commands = defineKind<never>({
  name: "commands",
  noun: "command",
  shape: Type.Object({ name: Type.String(), summary: Type.String() }),
  describe: (entry) => entry, // none is ever recorded
  known: ({ manifest }) => manifest?.commands?.map(({ name, summary }) => ({ name, summary })) ?? [],
});
