/** Hides text that looks like a secret: keys of well-known formats, URLs and headers with a credential. Pure. */

export const HIDDEN = "[redacted]";

/** Quick test: text without a match contains no secret shape. */
const SUSPECT = new RegExp(
  [
    "token|secret|passw|passphrase|api.?key|private.?key|authorization|cookie|signature|credential|serviceaccount",
    'bearer|basic |-----begin|://[^\\s"/]*@|\\b[sprw]k[-_]|gh[opsur]_|github_pat|xox[a-z]-|aiza|akia|glpat-|hf_|whsec_|eyj',
    "[?&#;](?:key|sig|auth|code|pwd)=|\\d{8}:[\\w-]{30}",
  ].join("|"),
  "i",
);

/** Shapes and their replacements. */
const SHAPES: readonly (readonly [shape: RegExp, instead: string])[] = [
  [/-----BEGIN [A-Z0-9 ]{1,64}-----[\s\S]*?(?:-----END [A-Z0-9 ]{1,64}-----|$)/g, HIDDEN],
  [/\b(bearer)(\s+|%20)[\w.~+/=-]{8,}/gi, `$1$2${HIDDEN}`],
  [/\b(Basic)\s+(?=[\w+/-]*(?:\d|[a-z][A-Z]|=))[\w+/-]{6,}={0,2}/g, `$1 ${HIDDEN}`],
  [/([a-z][a-z0-9+.-]{0,31}:\/\/)[^\s/?#"'@]{1,512}@/gi, `$1${HIDDEN}@`],
  [
    /([?&#;][\w.-]{0,64}?(?:token|secret|passw(?:or)?d|pwd|key|signature|sig|auth|code|credential)[\w.-]{0,32}=)[^&\s"'#<>]+/gi,
    `$1${HIDDEN}`,
  ],
  [/\b(?:[sprw]k|sk-ant|sk-proj)[-_][\w-]{16,}/g, HIDDEN],
  [
    /\b(?:gh[opsur]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|hf_\w{20,}|whsec_[\w+/=-]{16,}|xox[a-z]-[\w-]{10,})/g,
    HIDDEN,
  ],
  [/\b(?:AIza[\w-]{30,}|(?:AKIA|ASIA)[A-Z0-9]{16}|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?|\d{8,10}:[\w-]{30,})/g, HIDDEN],
  [
    /\b((?:proxy-)?authorization|(?:set-)?cookie|x-[\w-]{0,32}(?:key|token|secret))(\s*:\s*)(?!\[redacted\])[^\r\n"']+/gi,
    `$1$2${HIDDEN}`,
  ],
  // A name and its value in text, e.g. `token=x`, `"password": "x"`, `api-key:x`.
  [
    /\b([\w.-]{0,64}?(?:token|secret|passw(?:or)?d|passphrase|api[-_]?key|authorization|cookie)(?:\\*["'])?(?:=|:|: ?(?=\\*["']))\\*["']?)(?!\[redacted\])[^\s"'\\,;&}\])]{4,}/gi,
    `$1${HIDDEN}`,
  ],
];

/** Whether the text may contain a shape that `hideShapes` replaces. */
export function mayLookSecret(text: string): boolean {
  return SUSPECT.test(text);
}

/** Replaces text that looks like a secret. */
export function hideShapes(text: string): string {
  return SUSPECT.test(text) ? SHAPES.reduce((rest, [shape, instead]) => rest.replace(shape, instead), text) : text;
}
