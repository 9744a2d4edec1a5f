/** Login: checks the address and the password with the BlueBubbles server, or starts imsg. */
import { isAddress, trimmedAddress } from "@svc/kit/channels";
import { GatewayError, invalidRequest, isGatewayError } from "@svc/sdk";
import type { ChannelLoginSteps } from "@svc/sdk/channels";
import { type Settings, wordsOf } from "./config.ts";
import type { Identity } from "./server.ts";

/** Key, label and help. */
const FIELDS = [
  [
    "serverUrl",
    "Address of the BlueBubbles server",
    "BlueBubbles shows it, e.g. http://mac.local:1234; empty for imsg",
  ],
  ["password", "Password of the BlueBubbles server", "settings of BlueBubbles; empty for imsg"],
  ["callbackUrl", "Address of this gateway for the Mac", "messages then arrive at once; empty: the server is polled"],
  ["command", "Command that starts imsg", "instead of BlueBubbles, e.g. imsg, or ssh mac imsg; empty otherwise"],
] as const;

/** @param identify connects with the settings, and ends the connection */
export function createLogin(
  identify: (settings: Settings, signal: AbortSignal) => Promise<Identity>,
): ChannelLoginSteps {
  return {
    start: () => ({
      kind: "form",
      message:
        "Install BlueBubbles on a Mac that is signed in to iMessage, and enter its address and password. Or enter the command that starts imsg.",
      fields: FIELDS.map(([key, label, help]) => ({ key, label, help, secret: key === "password", optional: true })),
    }),

    async next({ answers, signal }) {
      const entered = (key: string) => answers[key]?.trim() ?? "";
      const [password, command] = [entered("password"), entered("command")];
      const [serverUrl, callbackUrl] = [trimmedAddress(entered("serverUrl")), trimmedAddress(entered("callbackUrl"))];
      if ((serverUrl === "") === (command === ""))
        invalidRequest("enter either the address of the BlueBubbles server or the command that starts imsg");
      for (const address of [serverUrl, callbackUrl])
        if (address !== "" && !isAddress(address))
          invalidRequest(`"${address}" is not an address; write it as http://mac.local:1234`);
      if (serverUrl !== "" && password === "")
        invalidRequest("the password is missing; see the settings of BlueBubbles");
      const settings = { serverUrl, password, command: wordsOf(command), privateApi: false, pollMs: 0 };
      const { name, privateApi } = await identify(settings, signal).catch(explain);
      const former = { serverUrl: undefined, password: undefined, callbackUrl: undefined, command: undefined };
      const callback = callbackUrl === "" ? {} : { callbackUrl };
      const written =
        command === "" ? { serverUrl, password, command: undefined, ...callback } : { ...former, command };
      const more = privateApi ? "Tapbacks, edits, answers and typing are available." : "It has no private API.";
      return {
        kind: "done",
        message: `Connected to ${name}. ${more}`,
        config: { ...written, privateApi: privateApi || undefined },
      };
    },
  };
}

/** Wrong values are the mistake of the person, not an outage. @throws always */
function explain(error: unknown): never {
  if (!isGatewayError(error) || !["NOT_LINKED", "NOT_FOUND"].includes(error.code)) throw error;
  throw new GatewayError("INVALID_REQUEST", error.message);
}
