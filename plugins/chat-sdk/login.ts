/** Login: asks for the adapter and what its factory takes, and starts the adapter once. */
import { jsonOf } from "@svc/kit/body";
import { invalidRequest, isGatewayError, matches, Type, unavailable } from "@svc/sdk";
import type { ChannelLoginSteps } from "@svc/sdk/channels";
import { CATALOGUE } from "./adapter.ts";
import { ADAPTER, DEFAULTS, type Settings } from "./config.ts";
import { type Context, withAdapter } from "./run.ts";
import { webhookOf } from "./webhook.ts";

const FIELDS = [
  { key: "adapter", label: "Adapter", help: "a slug of the list, or the name of an npm package" },
  {
    key: "options",
    label: "Options of the factory, as JSON",
    help: `the README of the adapter names them, e.g. {"mode": "polling"}`,
    optional: true,
  },
  {
    key: "credentials",
    label: "Secrets of the factory, as JSON",
    help: `the README of the adapter names them, e.g. {"botToken": "123:abc"}; without them, the adapter reads its environment variables`,
    secret: true,
    optional: true,
  },
];
const Options = Type.Record(Type.String(), Type.Unknown());
const Credentials = Type.Record(Type.String(), Type.String({ minLength: 1 }));

export function createLogin(context: Context): ChannelLoginSteps {
  return {
    start: () => ({
      kind: "form",
      message:
        `Adapters of the catalogue: ${[...CATALOGUE.keys()].join(", ")}. ` +
        "If the package of the adapter is not installed, the next step names the command.",
      fields: FIELDS,
    }),

    async next({ accountId, answers, signal, settings = DEFAULTS }) {
      const [adapter = "", options = "", credentials = ""] = FIELDS.map(({ key }) => answers[key]?.trim() ?? "");
      if (!new RegExp(ADAPTER).test(adapter)) invalidRequest("the adapter is neither a slug nor the name of a package");
      const [given, secret] = [options && jsonOf(options), credentials && jsonOf(credentials)];
      if (given !== "" && !matches(Options, given)) invalidRequest("the options are not a JSON object");
      if (secret !== "" && !matches(Credentials, secret))
        invalidRequest(`the secrets are not a JSON object of texts, e.g. {"botToken": "123:abc"}`);
      const config = {
        adapter,
        ...(given === "" ? {} : { options: given }),
        ...(secret === "" ? {} : { credentials: secret }),
      };
      const full = { ...(settings as Settings), ...config }; // of this channel
      let name = "";
      const receive = async () => unavailable("the login is not over"); // the adapter hands it over again
      const run = { accountId, settings: full, signal, receive, alive: () => {} };
      await withAdapter(run, context, async ({ adapter: made }) => void (name = made.userName)).catch(
        (error: unknown) => {
          if (isGatewayError(error) && error.code === "NOT_LINKED") invalidRequest(error.message);
          throw error;
        },
      );
      const message = `${name} is ready. Webhook, if the network needs one: https://<address of this gateway>${webhookOf(accountId)}`;
      return { kind: "done", message, config };
    },
  };
}
