import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  growingText,
  isSilent,
  mayBecomeSilent,
  replyText,
  withoutDirectives,
} from "../../../plugins/chat/display-text.ts";

describe("directive tags", () => {
  const rows: [what: string, text: string, shown: string][] = [
    ["a tag at the start", "[[reply_to_current]] Hello", "Hello"],
    ["a tag on its own first line", "[[reply_to_current]]\n\nHello", "Hello"],
    ["several tags at the start", " [[reply_to: 42]] [[audio_as_voice]] Hello", "Hello"],
    ["a tag inside", "Hello [[audio_as_voice]] you", "Hello you"],
    ["no tag", "Hello", "Hello"],
    ["a wiki link", "see [[Home]]", "see [[Home]]"],
    ["a nested array", "[[1, 2], [3, 4]]", "[[1, 2], [3, 4]]"],
    ["a shell test", "if [[ -f a_b ]]; then", "if [[ -f a_b ]]; then"],
    ["the indentation of a text without tags", "  indented", "  indented"],
  ];
  for (const [what, text, shown] of rows)
    it(`shows ${what} correctly`, () => assert.equal(withoutDirectives(text), shown));

  it("never lets a growing text shrink or show part of a tag", () => {
    const whole =
      '[[reply_to: 42]] Hello [a link] and [[audio_as_voice]] bye [[Home]] <<<EXTERNAL_UNTRUSTED_CONTENT id="1f">>>\n' +
      'a << b <<<END_EXTERNAL_UNTRUSTED_CONTENT id="1f">>> <<<E> [';
    let before = "";
    for (let length = 0; length <= whole.length; length++) {
      const shown = growingText(whole.slice(0, length));
      assert.ok(shown.startsWith(before), `"${shown}" does not go on from "${before}"`);
      assert.doesNotMatch(shown, /reply_to|audio_as|UNTRUSTED/);
      before = shown;
    }
    assert.ok(replyText(whole).startsWith(before));
  });
});

describe("the silent reply", () => {
  const rows: [text: string, silent: boolean, may: boolean][] = [
    ["NO_REPLY", true, true],
    [" NO_REPLY\n", true, true],
    ["NO_REP", false, true],
    ["N", false, true],
    ["No", false, false],
    ["no_reply", false, false],
    ["NO_REPLY, but", false, false],
    ["", false, false],
  ];
  for (const [text, silent, may] of rows) {
    it(`is ${silent ? "" : "not "}${JSON.stringify(text)}, which may ${may ? "" : "not "}become it`, () => {
      assert.equal(isSilent(text), silent);
      assert.equal(mayBecomeSilent(text), may);
    });
  }
});
