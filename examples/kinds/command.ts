import { defineCommands, show, withGateway } from "@svc/sdk/cli";
import { dice } from "./method.ts";

/** The file that `svc.cli` in package.json names; `svc.commands` repeats name and summary, so that help needs no code. */
export default defineCommands([
  {
    name: "dice roll",
    summary: "Roll a die",
    options: [{ flags: "--sides <n>", description: "2 to 100", default: "6" }],
    run: (context) =>
      withGateway(context, ["operator.write"], async (client) => {
        const rolled = await client.call(dice.roll, { sides: Number(context.options["sides"]) });
        show(context, rolled, ({ value }) => [String(value)]);
      }),
  },
]);
