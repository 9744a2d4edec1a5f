/** Keys of the section `secrets`, and of references to secrets: each is tried with existing places. */
import { realpathSync } from "node:fs";
import { chmod, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Given } from "./config-cases.ts";

const node = realpathSync(process.execPath);

/** Variables of this process that references name. */
const VARIABLES = { SVC_CONFORMANCE_A: "value-of-a", SVC_CONFORMANCE_B: "value-of-b" };

const directoryOf = (stateDir: string) => join(stateDir, "secrets");

/** Creates what the cases below name in a state directory and in this process. */
export async function keepSamples(stateDir: string): Promise<void> {
  Object.assign(process.env, VARIABLES);
  const directory = directoryOf(stateDir);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  for (const name of ["one", "two"]) {
    await writeFile(join(directory, `${name}.json`), JSON.stringify({ key: name }), { mode: 0o600 });
  }
  const program = join(directory, "open.sh");
  await writeFile(program, "#!/bin/sh\necho plain\n");
  await chmod(program, 0o777);
  await symlink(node, join(directory, "link"));
}

/** Prints a text for any request, after reading it. */
const printing = (text: string, more: object = {}) => ({
  source: "exec",
  command: node,
  args: ["-e", `process.stdin.resume().on("end", () => process.stdout.write(String(${text})))`],
  jsonOnly: false,
  ...more,
});

/** A configuration in which the key of a model is a reference. */
const looking = (apiKey: object, providers: object = {}, more: object = {}) => ({
  models: { providers: { acme: { apiKey } } },
  secrets: { providers, ...more },
});
const ENV = { source: "env", provider: "sample", id: "SVC_CONFORMANCE_A" };
const FILE = { source: "file", provider: "sample", id: "/key" };
const EXEC = { source: "exec", provider: "sample", id: "key" };

/** One entry of `secrets.providers`, before and after. The one that works comes first: a failure would keep the earlier value. */
function entry(ref: object, before: object, after: object): Given {
  return {
    entry: "sample",
    between: [looking(ref, { sample: before }), looking(ref, { sample: after })],
  };
}
const program = (before: object, after: object, text = '"text"') =>
  entry(EXEC, printing(text, before), printing(text, after));
/** The same with files of the state directory. */
function files(settings: (directory: string) => readonly [before: object, after: object], ref: object = FILE): Given {
  return {
    entry: "sample",
    between: (stateDir) => {
      const [before, after] = settings(directoryOf(stateDir));
      return [looking(ref, { sample: before }), looking(ref, { sample: after })];
    },
  };
}
const vault = (directory: string, more: object = {}) => ({
  source: "file",
  path: join(directory, "one.json"),
  ...more,
});

/** Two programs with different values, and the one that is called unless a reference names one. */
const PROGRAMS = { one: printing('"one"'), two: printing('"two"') };
const usual = (name: string) => ({ secrets: { providers: PROGRAMS, defaults: { exec: name } } });

/** The key of `models.providers.acme` as a reference, before and after. */
function keyOfModel(place: (apiKey: object) => object): (before: object, after: object) => Given {
  return (before, after) => ({ beside: usual("one"), between: [place(before), place(after)] });
}
const single = keyOfModel((apiKey) => ({ models: { providers: { acme: { apiKey } } } }));
const several = keyOfModel((apiKey) => ({
  models: { providers: { acme: { accounts: [{ name: "first", apiKey }] } } },
}));
const byEnvironment = { source: "env", id: "SVC_CONFORMANCE_A" };

export const SECRETS_GIVEN: Readonly<Record<string, Given>> = {
  ...Object.fromEntries(
    (
      [
        ["models.providers.*.apiKey", single],
        ["models.providers.*.accounts[].apiKey", several],
      ] as const
    ).flatMap(([path, place]) => [
      [`${path}.source`, place(byEnvironment, { ...byEnvironment, source: "exec" })],
      [`${path}.provider`, place({ source: "exec", id: "key" }, { source: "exec", provider: "two", id: "key" })],
      [`${path}.id`, place(byEnvironment, { ...byEnvironment, id: "SVC_CONFORMANCE_B" })],
    ]),
  ),
  "secrets.providers.*.source": entry(ENV, { source: "env" }, { source: "nobody" }),
  "secrets.providers.*.allowlist": entry(ENV, { source: "env" }, { source: "env", allowlist: ["OTHER"] }),
  "secrets.providers.*.path": files((directory) => [
    vault(directory),
    { ...vault(directory), path: join(directory, "two.json") },
  ]),
  "secrets.providers.*.mode": files((directory) => [vault(directory), vault(directory, { mode: "singleValue" })]),
  "secrets.providers.*.maxBytes": files((directory) => [vault(directory), vault(directory, { maxBytes: 4 })]),
  "secrets.providers.*.command": program({}, { command: realpathSync("/bin/true") }),
  "secrets.providers.*.maxOutputBytes": program({}, { maxOutputBytes: 1 }),
  "secrets.providers.*.jsonOnly": program({ jsonOnly: false }, { jsonOnly: true }),
  "secrets.providers.*.passEnv": program({}, { passEnv: ["SVC_CONFORMANCE_A"] }, "process.env.SVC_CONFORMANCE_A"),
  "secrets.providers.*.trustedDirs": program({}, { trustedDirs: ["/nowhere"] }),
  "secrets.providers.*.timeoutMs": program({}, { timeoutMs: 7_000 }),
  "secrets.providers.*.noOutputTimeoutMs": program({}, { noOutputTimeoutMs: 7_000 }),
  "secrets.providers.*.allowInsecurePath": files(
    (directory) => [
      { source: "exec", command: join(directory, "open.sh"), jsonOnly: false, allowInsecurePath: true },
      { source: "exec", command: join(directory, "open.sh"), jsonOnly: false },
    ],
    EXEC,
  ),
  "secrets.providers.*.allowSymlinkCommand": files(
    (directory) => [
      printing('"text"', { command: join(directory, "link"), allowSymlinkCommand: true }),
      printing('"text"', { command: join(directory, "link") }),
    ],
    EXEC,
  ),
  "secrets.defaults.env": {
    between: [
      looking(byEnvironment, { other: { source: "env", allowlist: ["OTHER"] } }),
      looking(byEnvironment, { other: { source: "env", allowlist: ["OTHER"] } }, { defaults: { env: "other" } }),
    ],
  },
  "secrets.defaults.file": {
    between: (stateDir) => {
      const [one, two] = ["one", "two"].map((name) => ({
        source: "file",
        path: join(directoryOf(stateDir), `${name}.json`),
      }));
      const ref = { source: "file", id: "/key" };
      return [
        looking(ref, { one, two }, { defaults: { file: "one" } }),
        looking(ref, { one, two }, { defaults: { file: "two" } }),
      ];
    },
  },
  "secrets.defaults.exec": {
    between: [
      looking({ source: "exec", id: "key" }, PROGRAMS, { defaults: { exec: "one" } }),
      looking({ source: "exec", id: "key" }, PROGRAMS, { defaults: { exec: "two" } }),
    ],
  },
};

/** As `SEEN_ELSEWHERE`: these take effect with time or with many references. */
export const SECRETS_SEEN_ELSEWHERE: Readonly<Record<string, string>> = {
  "secrets.providers.*.timeoutMs": "plugins/secrets/exec-source.test.ts",
  "secrets.providers.*.noOutputTimeoutMs": "plugins/secrets/exec-source.test.ts",
  "secrets.resolution.maxProviderConcurrency": "plugins/secrets/lookup.test.ts",
  "secrets.resolution.maxRefsPerProvider": "plugins/secrets/lookup.test.ts",
  "secrets.resolution.maxBatchBytes": "plugins/secrets/lookup.test.ts",
};
