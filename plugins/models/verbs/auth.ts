/** `svc models auth <provider>`: gets a key, checks it at the server, and writes it to the configuration. */
import { invalidRequest } from "@svc/sdk";
import { askText, canAsk, type CommandContext, commandText, show, visible, withGateway } from "@svc/sdk/cli";
import { config } from "@svc/sdk/config";
import { models } from "@svc/sdk/models";
import { KNOWN_SERVERS, knownServer } from "@svc/kit/providers";
import { agrees, type Client, keyOf, providersOf, writeProvider } from "./interaction.ts";
import { signInAtOpenRouter } from "./openrouter-login.ts";

/** Milliseconds for a check and for a test call. */
const CHECK_TIMEOUT_MS = 30_000;
const TEST_TIMEOUT_MS = 120_000;

interface AuthFlags {
  readonly keyEnv?: string;
  readonly baseUrl?: string;
  readonly paste?: boolean;
  readonly unchecked?: boolean;
  readonly yes?: boolean;
}

export interface AuthOptions {
  readonly env?: NodeJS.ProcessEnv;
  /** Site for the sign-in. Default: OpenRouter. */
  readonly site?: string;
}

/** @returns the exit code */
export async function authenticate(context: CommandContext, options: AuthOptions = {}): Promise<number> {
  const [name = ""] = context.args;
  const flags = context.options as AuthFlags;
  return withGateway(context, ["operator.admin"], async (client) => {
    const snapshot = await client.call(config.get, {});
    const existing = providersOf(snapshot.parsed)[name];
    refuseUnsuitable(name, existing);
    const again = commandText([
      "svc",
      "models",
      "auth",
      name,
      ...(flags.keyEnv === undefined ? [] : ["--key-env", flags.keyEnv]),
      ...(flags.baseUrl === undefined ? [] : ["--base-url", flags.baseUrl]),
    ]);
    if (hasKey(existing) && flags.yes !== true && !(await agrees(context, `Replace the key of ${name}?`))) {
      context.note(`Nothing was written.${canAsk(context) ? "" : `\nNext: ${again} --yes`}`);
      return 1;
    }
    const { key, written } = await obtainKey(name, context, flags, options);
    const isChecked = flags.unchecked === true ? false : await check(client, name, key, flags, again);
    const provider = { apiKey: written, ...(flags.baseUrl === undefined ? {} : { baseUrl: flags.baseUrl }) };
    const { path } = await writeProvider(client, snapshot, name, provider);
    const refs = (await client.call(models.list, {})).models
      .filter((model) => model.provider === name)
      .map(({ id }) => `${name}/${id}`);
    show(context, { provider: name, checked: isChecked, models: refs, path }, () => [
      `${isChecked ? "The server accepts the key. " : ""}Wrote it to ${path}: models.providers.${name}.apiKey`,
      ...(flags.keyEnv === undefined
        ? []
        : [`The gateway reads the key from its own environment: set ${flags.keyEnv} there at each start.`]),
      refs.length === 0 ? `Models: svc models scan ${name}` : `${refs.length} models: svc models list`,
    ]);
    if (isChecked) return 0;
    return testCall(client, context, flags.unchecked === true ? undefined : refs[0]);
  });
}

function refuseUnsuitable(name: string, existing: unknown): void {
  if (existing === undefined && !knownServer(name)) {
    const names = Object.entries(KNOWN_SERVERS).flatMap(([known, { env }]) => (env.length > 0 ? [known] : []));
    invalidRequest(
      `"${visible(name)}" is neither configured nor known; known providers: ${names.join(", ")}\n` +
        "Next: for another server: svc models add <url> --key-env <variable>",
    );
  }
  if ((Object(existing) as { accounts?: unknown }).accounts !== undefined)
    invalidRequest(
      `models.providers.${name} has several accounts\nNext: svc config set models.providers.${name}.accounts[0].apiKey ...`,
    );
}

function hasKey(existing: unknown): boolean {
  return (Object(existing) as { apiKey?: unknown }).apiKey !== undefined;
}

/** The key, and what the configuration gets: the key itself, or the variable that holds it. */
async function obtainKey(
  name: string,
  context: CommandContext,
  flags: AuthFlags,
  { env = process.env, site }: AuthOptions,
): Promise<{ key: string; written: string }> {
  if (flags.keyEnv !== undefined) return { key: keyOf(flags.keyEnv, env), written: `\${${flags.keyEnv}}` };
  if (name === "openrouter" && flags.paste !== true && flags.baseUrl === undefined) {
    const key = await signInAtOpenRouter({
      ...(site === undefined ? {} : { site }),
      show: (url) =>
        context.note(`Open this address in a browser on this machine, and agree within 5 minutes:\n  ${url}`),
    });
    return { key, written: key };
  }
  if (!canAsk(context))
    invalidRequest(
      `a key is needed\nNext: export ${knownServer(name)?.env[0] ?? "ACME_API_KEY"}=..., then --key-env, or run the command in a terminal`,
    );
  const key = await askText(`Key of ${name} (hidden): `, context, true);
  if (!/^[\x21-\x7e]{1,4096}$/u.test(key))
    invalidRequest("that is no key: it is empty, or has blanks; nothing was written");
  return { key, written: key };
}

/** @returns whether the server accepts the key; false: its API offers no check */
async function check(client: Client, name: string, apiKey: string, flags: AuthFlags, again: string): Promise<boolean> {
  const account = { apiKey, ...(flags.baseUrl === undefined ? {} : { baseUrl: flags.baseUrl }) };
  const { servers } = await client.call(models.scan, { provider: name, account }, { timeoutMs: CHECK_TIMEOUT_MS });
  const { problem, problemKind } = servers[0] ?? {};
  if (problemKind === "unsupported") return false;
  if (problem !== undefined)
    invalidRequest(
      `${problem}\nnothing was written\nNext: ${again}, or add --unchecked to write the key without a check`,
    );
  return true;
}

/** @param model `undefined`: do not ask */
async function testCall(client: Client, context: CommandContext, model: string | undefined): Promise<number> {
  const question = "Check the key with one short question? This costs a few tokens.";
  if (model === undefined || !canAsk(context) || !(await agrees(context, question))) {
    context.note(
      `The key was not checked.\nNext: svc models test${model === undefined ? "" : ` ${commandText([model])}`}`,
    );
    return 0;
  }
  const { text } = await client.call(models.test, { model }, { timeoutMs: TEST_TIMEOUT_MS });
  context.print(`${model} answers: ${visible(text.trim())}`);
  return 0;
}
