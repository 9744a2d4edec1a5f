/** `svc onboard`: the guided setup in a terminal, or by lines of JSON. */
import { defineCommands } from "@svc/sdk/cli";

export default defineCommands([
  {
    name: "onboard",
    summary: "Set up this gateway step by step",
    options: [
      { flags: "--yes", description: "accept all defaults: offline responder, no channels" },
      {
        flags: "--provider <id>",
        description: "model server: an option of the setup (anthropic, openai, ...) or a URL",
      },
      {
        flags: "--key-env <name>",
        description: "environment variable of the gateway that holds the key of that server",
      },
      { flags: "--workspace <dir>", description: "directory for the files of the default agent" },
      { flags: "--install-service", description: "at the end, run the gateway as a service of this user" },
    ],
    help: [
      "Without a running gateway, the command starts one. Repeat the command at any time: it offers what is set up as the first choice.",
      "With --json it prints each step as one line and reads each answer as one line of JSON; an empty line accepts the default.",
    ],
    examples: [
      "svc onboard",
      "svc onboard --yes",
      "svc onboard --yes --provider openai --key-env OPENAI_API_KEY",
      "svc onboard --url wss://gateway.example --token <token>",
    ],
    run: async (context) => (await import("./terminal/onboard.ts")).onboard(context),
  },
]);
