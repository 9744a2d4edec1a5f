/** Part of the guided setup: connects chat networks, by the login steps of each channel. */
import { isGatewayError, lazy } from "@svc/sdk";
import type { LoginStepView } from "@svc/sdk/channels";
import type { SetupOption, SetupPart, SetupStep } from "@svc/sdk/wizard";
import type { ChannelAccounts } from "./channel-accounts.ts";
import type { LoginSteps } from "./login.ts";

/** QR codes are drawn only by logins that have one. */
const qrCode = lazy(() => import("uqr"));

const NONE = "";

/** The field that is being asked, and the values so far. */
interface FormState {
  readonly at: "form";
  readonly channel: string;
  readonly loginId: string;
  readonly step: LoginStepView;
  readonly answers: Readonly<Record<string, string>>;
}

type State =
  | { readonly at: "choice" }
  | { readonly at: "show"; readonly channel: string; readonly loginId: string }
  | FormState;
type Login = Awaited<ReturnType<LoginSteps["next"]>>;

export interface ChannelPartSources {
  readonly accounts: Pick<ChannelAccounts, "channels" | "configured">;
  readonly logins: LoginSteps;
}

export function createChannelPart({ accounts, logins }: ChannelPartSources): Pick<SetupPart, "start" | "next"> {
  function choice(news?: string): SetupStep {
    const names = new Set(accounts.configured().map(({ id }) => id));
    const options: SetupOption[] = accounts
      .channels()
      .filter(({ value }) => value.login !== undefined)
      .map(({ id, value }) => ({
        value: id,
        label: value.label,
        ...(names.has(id) ? { hint: "already set up" } : {}),
      }));
    if (options.length === 0 && news === undefined)
      return { done: true, message: "Chat networks: no channel with a login is loaded." };
    const none = { value: NONE, label: names.size > 0 ? `Keep ${[...names].join(", ")}` : "None for now" };
    const question = names.size > 0 ? "Connect another chat network?" : "Connect a chat network?";
    const message = [news, question].filter((line) => line !== undefined).join("\n\n");
    return {
      ask: { kind: "select", message, options: [none, ...options], initial: NONE },
      state: { at: "choice" } satisfies State,
    };
  }

  /** Refused values are asked again; a login that cannot go on leads back to the choice. */
  async function attempt(work: () => Promise<Login>, form?: FormState): Promise<SetupStep> {
    try {
      return await shown(await work());
    } catch (error) {
      if (!isGatewayError(error)) throw error;
      return form && error.code === "INVALID_REQUEST"
        ? field({ ...form, answers: {} }, error.message)
        : choice(error.message);
    }
  }

  async function shown({ channel, loginId, step }: Login): Promise<SetupStep> {
    if (step.kind === "done") return choice(`${step.message}\n${NEXT}`);
    if (step.kind === "form") return field({ at: "form", channel, loginId, step, answers: {} });
    const { message, url, qr } = step;
    const drawn = qr === undefined ? undefined : (await qrCode()).renderUnicodeCompact(qr);
    const lines = [message, url, drawn, "Then continue; the next step waits until it is done."];
    return {
      ask: { kind: "note", message: lines.filter((line) => line !== undefined).join("\n\n") },
      state: { at: "show", channel, loginId } satisfies State,
    };
  }

  function field(state: FormState, why?: string): SetupStep {
    const { step, answers } = state;
    const next = step.fields?.find(({ key }) => answers[key] === undefined);
    if (!next) throw new Error(`the login of ${state.channel} asks for nothing`);
    const { label, help, secret = false, optional = false } = next;
    const isFirst = Object.keys(answers).length === 0;
    const lines = [why, isFirst ? step.message : undefined, help, `${label}${optional ? " (optional)" : ""}:`];
    const message = lines.filter((line) => line !== undefined).join("\n\n");
    return { ask: { kind: "text", message, ...(secret ? { sensitive: true } : {}) }, state };
  }

  async function filled(state: FormState, answer: string): Promise<SetupStep> {
    const { step, loginId } = state;
    const fields = step.fields ?? [];
    const asked = fields.find(({ key }) => state.answers[key] === undefined);
    const isGivenUp = answer === "" && asked?.optional !== true;
    if (isGivenUp) return choice("Nothing was entered; the login was left.");
    const answers = { ...state.answers, ...(asked ? { [asked.key]: answer } : {}) };
    const form = { ...state, answers };
    if (fields.some(({ key }) => answers[key] === undefined)) return field(form);
    return attempt(() => logins.next(loginId, answers), form);
  }

  return {
    start: async () => choice(),
    async next({ state: given, answer }) {
      const state = given as State; // this part made it
      switch (state.at) {
        case "choice":
          return answer === NONE ? { done: true } : attempt(() => logins.start(String(answer)));
        case "form":
          return filled(state, String(answer ?? "").trim());
        case "show":
          return attempt(() => logins.next(state.loginId, {}));
      }
    },
  };
}

const NEXT =
  "Write to the bot: it answers with a pairing code. Let the sender in: svc channels pairing approve <channel> <code>";
