/** The network for the tests that all channels share: one visitor with a token of their own. */
import { hashOf } from "../../../plugins/webchat/store.ts";
import type { StartNetwork } from "../channels/test-network.ts";
import { ORIGIN, patientVisitor } from "./visitor.ts";

const TOKEN = "the-token-of-ada-on-the-website";

export const network: StartNetwork = async (t) => {
  const visitor = patientVisitor(t, TOKEN);
  return {
    id: "website",
    settings: { dmPolicy: "pairing", knownVisitors: { ada: hashOf(TOKEN) } },
    login: { allowedOrigins: ORIGIN },
    written: { allowedOrigins: [ORIGIN] },
    wrong: { allowedOrigins: "not an origin" },
    person: "ada",
    sessionKey: "agent:main:website:default:direct:ada",
    meets: (gateway) => visitor.goTo(gateway),
    says: (text) => visitor.says(text),
    presses: (label) => visitor.presses(label),
    heard: () => visitor.heard.map(({ text }) => text),
    sentIds: () => visitor.heard.map(({ id }) => id),
  };
};
