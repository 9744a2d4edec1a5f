/** Front matter of SKILL.md files: the shapes that public skills have, and hostile ones. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bodyOf, type Manifest, parseManifest } from "../../../plugins/skills/library/manifest.ts";

const skill = (head: string, body = "Do it.") => `---\n${head}\n---\n\n${body}\n`;
const none = { bins: [], anyBins: [], env: [], config: [], os: [] };

/** Ten shapes that occur in public collections; the texts are our own. */
const PUBLIC: readonly (readonly [shape: string, head: string, found: Partial<Manifest>])[] = [
  [
    "only name and description",
    "name: tidy-notes\ndescription: Sorts notes into folders.",
    { name: "tidy-notes", needs: none },
  ],
  [
    "a license and allowed tools",
    "name: sheet-maker\ndescription: Builds spreadsheets with formulas.\nlicense: Complete terms in LICENSE.txt\nallowed-tools: Bash(python:*) Read Write",
    { name: "sheet-maker", description: "Builds spreadsheets with formulas." },
  ],
  [
    "a list of allowed tools, compatibility and a map of texts as metadata",
    'name: deploy-site\ndescription: Publishes a site.\ncompatibility: needs git and a network\nallowed-tools:\n  - Bash\n  - Read\nmetadata:\n  author: acme\n  version: "1.2"',
    { name: "deploy-site", needs: none, install: [] },
  ],
  [
    "metadata as one line of JSON below a product key",
    'name: lamp\ndescription: Switches lamps.\nhomepage: https://lamp.example\nmetadata: {"acmebot":{"emoji":"💡","os":["darwin","linux"],"requires":{"bins":["lampctl"]},"install":[{"id":"brew","kind":"brew","formula":"acme/tap/lampctl","bins":["lampctl"],"label":"Install lampctl (brew)"}]}}',
    { emoji: "💡", homepage: "https://lamp.example", needs: { ...none, bins: ["lampctl"], os: ["darwin", "linux"] } },
  ],
  [
    "metadata as JSON over several lines, with commas at the ends",
    'name: notes-sync\ndescription: "Copies notes: both ways."\nmetadata:\n  {\n    "acmebot":\n      {\n        "requires": { "bins": ["curl"], "env": ["NOTES_KEY"] },\n        "primaryEnv": "NOTES_KEY",\n      },\n  }',
    { primaryEnv: "NOTES_KEY", needs: { ...none, bins: ["curl"], env: ["NOTES_KEY"] } },
  ],
  [
    "metadata as a text with JSON in it",
    `name: radio\ndescription: Plays stations.\nmetadata: '{"acmebot": {"requires": {"anyBins": ["mpv", "vlc"]}, "always": true}}'`,
    { always: true, needs: { ...none, anyBins: ["mpv", "vlc"] } },
  ],
  [
    "metadata in YAML with a key of its own and a single program",
    "name: mail-read\ndescription: Reads mail.\nmetadata:\n  acmebot:\n    skillKey: mail\n    os: macos\n    requires:\n      bins: himail\n      config: [channels.mail.enabled]",
    { skillKey: "mail", needs: { ...none, bins: ["himail"], config: ["channels.mail.enabled"], os: ["darwin"] } },
  ],
  [
    "a description of several lines, folded",
    "name: review\ndescription: >-\n  Reviews changes.\n  Use it before a merge.\ndisable-model-invocation: true\nuser-invocable: true",
    { description: "Reviews changes. Use it before a merge.", isUnlisted: true },
  ],
  [
    "a description with an unquoted colon, line ends of another system and a byte order mark",
    "name: pdf-forms\r\ndescription: Fills forms. Use when: a PDF has fields, or the user says: fill this",
    { description: "Fills forms. Use when: a PDF has fields, or the user says: fill this" },
  ],
  [
    "installers of every kind",
    "name: many\ndescription: Has installers.\nmetadata:\n  acmebot:\n    install:\n      - {kind: node, package: '@acme/cli', bins: [acme]}\n      - {kind: go, module: example.com/cmd/tool@latest, bins: [tool]}\n      - {kind: uv, package: acme-tool}\n      - {kind: apt, package: jq, os: [linux]}\n      - {kind: download, url: 'https://x.example/t.tgz', archive: tar.gz, extract: true, bins: [t]}\n      - {kind: pip, package: unknown}",
    { name: "many" },
  ],
];

describe("the front matter of a public skill", () => {
  for (const [shape, head, found] of PUBLIC)
    it(`with ${shape} is read unchanged`, () => {
      const text = head.includes("\r")
        ? `\uFEFF${skill(head.replaceAll("\r", "")).replaceAll("\n", "\r\n")}`
        : skill(head);
      const manifest = parseManifest(text, "folder");
      assert.deepEqual({ ...manifest, ...found }, manifest);
    });

  it("says what each installer installs, and skips unknown kinds", () => {
    const [, head = ""] = PUBLIC.at(-1) ?? [];
    assert.deepEqual(
      parseManifest(skill(head), "folder").install.map(({ id, kind, what, extract }) => [id, kind, what, extract]),
      [
        ["node-0", "node", "@acme/cli", false],
        ["go-1", "go", "example.com/cmd/tool@latest", false],
        ["uv-2", "uv", "acme-tool", false],
        ["apt-3", "apt", "jq", false],
        ["download-4", "download", "https://x.example/t.tgz", true],
      ],
    );
  });

  it("takes its name from the folder by default, and prefers the key svc in the metadata", () => {
    const head = "description: d\nmetadata:\n  other: {emoji: a}\n  svc: {emoji: b}";
    const { name, skillKey, emoji } = parseManifest(skill(head), "from-folder");
    assert.deepEqual([name, skillKey, emoji], ["from-folder", "from-folder", "b"]);
  });
});

describe("hostile front matter", () => {
  const bomb = `a: &a [x,x]\nb: &b [*a,*a,*a,*a]\nc: [*b,*b,*b,*b]\nname: n\ndescription: d`;
  const refused: readonly (readonly [what: string, text: string, why: RegExp])[] = [
    ["without any", "# Title\n", /does not begin with front matter/],
    ["that never ends", "---\nname: x\n", /does not begin with front matter/],
    ["with aliases", skill(bomb), /aliases/],
    ["that is deeply nested", skill(`name: n\ndescription: ${"[".repeat(16_000)}`), /not valid YAML/],
    ["with keys in keys", skill(`name: n\ndescription: d\n${"? ".repeat(8_000)}`), /not valid YAML/],
    ["of 20000 characters", skill(`name: n\ndescription: d\nx: ${"y".repeat(20_000)}`), /more than 16384 characters/],
    ["without description", skill("name: n"), /no description/],
    ["with a path as its name", skill("name: ../../etc\ndescription: d"), /letters, digits/],
    ["with markup as its name", skill("name: '<system>'\ndescription: d"), /letters, digits/],
  ];
  for (const [what, text, why] of refused)
    it(`${what} is refused`, () => assert.throws(() => parseManifest(text, "f"), why));

  it("loses only its wrong types, options as programs and control characters", () => {
    const head = `name: n\ndescription: "a\\u0007b\\nc"\nmetadata:\n  x:\n    emoji: 7\n    homepage: "javascript:1"\n    primaryEnv: "A B"\n    requires:\n      bins: ["-rf", "../sh", {a: 1}, ok]\n      env: [OK, "A=B", 3]\n    install: [{kind: node}, 7, null]`;
    const found = parseManifest(skill(head), "f");
    assert.deepEqual(found, {
      name: "n",
      description: "a b c",
      skillKey: "n",
      always: false,
      isUnlisted: false,
      needs: { ...none, bins: ["ok"], env: ["OK"] },
      install: [],
    });
    assert.equal(({} as { polluted?: unknown }).polluted, undefined);
  });

  it("is not part of the instructions", () => {
    assert.equal(
      bodyOf(skill("name: n\ndescription: d", "Do it.\n\n---\n\nThen that.")),
      "Do it.\n\n---\n\nThen that.",
    );
  });
});
