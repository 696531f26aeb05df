// Pure. The phrases that the linter of prose refuses, each with what to write instead.
import type { Prose } from './prose.ts';

/** A phrase refused in prose. Without `kinds` it is refused everywhere. */
export interface RefusedPhrase {
  readonly pattern: RegExp;
  readonly kinds?: readonly Prose['kind'][];
  readonly say: string;
}

/** A word refused in a source file, in its prose and its names. */
export interface RefusedWord {
  readonly pattern: RegExp;
  readonly say: string;
}

const OPENING = String.raw`(?:^\s*|[.!?]\)? \(?)`;
const CLAUSE = String.raw`(?:^\s*|[.!?,;:] \(?)`;
const phrase = (pattern: string, say: string, kinds?: readonly Prose['kind'][]): RefusedPhrase => ({
  pattern: new RegExp(pattern, 'g'),
  say,
  ...(kinds === undefined ? {} : { kinds }),
});

/** In the order of "Words" in docs/CONTRIBUTING.md. */
export const PATTERNS: readonly RefusedPhrase[] = [
  phrase(`${CLAUSE}[Oo]f (?:whom|which|what|that|those|these)\\b`, 'begin with the subject: "the rows of a key that …"'),
  phrase('\\bof whom\\b', 'say it as a sentence: "contacts with an address", "people who asked to be removed"'),
  phrase(`${OPENING}Of\\b(?! course)`, 'begin with the subject: "the oldest answer of two counts", not "Of two answers …"'),
  phrase(
    `${OPENING}(?:By|In|At|For|From|To|With|On) (?:which|what|whom)\\b`,
    'begin with the subject: "The order in which …", "The key that …"',
  ),
  phrase(`${OPENING}By [a-z ]+ (?:is|are)\\b`, 'subject first: "X is sorted by Y", not "By Y is X"'),
  phrase(`\\b[Ww]ho(?:so)?ever\\b|\\b[Ww]homever\\b`, 'name them: the caller, the reader, the operator, the next pod'),
  phrase(`${OPENING}Whom?\\b(?![^.]*\\?)`, 'name them: "The caller that …", "A reader that …"', ['comment', 'docstring', 'title']),
  phrase(`${OPENING}What\\b(?![^.]*\\?)`, 'name the thing: "The header …", "Bytes that …", not "What comes first"', [
    'comment',
    'docstring',
    'title',
  ]),
  phrase(
    `${OPENING}(?:One|Those|That|All|None) (?:who|whose|that|which|of (?:those|these|which|what))\\b`,
    'name the thing: "A request that …", not "One that …"',
    ['comment', 'docstring', 'title'],
  ),
  phrase(`${OPENING}That (?:there|it|a|an|the|no)\\b`, 'say it as a sentence: "The key is known", or "Error: the job was lost"', [
    'docstring',
    'title',
  ]),
  phrase(`^\\s*Whether (?:it|they)\\b`, 'name the subject: "True when the lease …"'),
  phrase(`^\\s*Whether [^.]*\\bby (?:what|whom)\\b`, 'name the evidence: "True when the observation …"'),
  phrase(`\\b(?:it|nobody) (?:is|was) told\\b`, 'say who reports what to whom: "the log says …", "the caller gets …"'),
  phrase(`\\b(?:is|are|was|were) told of\\b`, 'say "reported", "logged" or "observed"'),
  phrase(`\\bso (?:many|much)\\b(?! (?:\\w+ )?that\\b)`, 'name the number: `limit`, `count`, `maxBytes`'),
  phrase(`(?<!\\bthere )\\b(?:is|are|was|were) none\\b(?! of\\b)`, 'say "is not a …" or "does not exist"'),
  phrase(`\\bnone of (?:its|his|hers|theirs)\\b`, 'say which: "belongs to another job"'),
  phrase(`\\bthere (?:is|are) not\\b(?! (?:a|an|any|one|yet|enough)\\b)`, 'say "does not exist", "is missing"'),
  phrase(`\\bnot any more\\b`, 'say "no longer"'),
  phrase(`\\b(?:is|are|was|were) of nobody\\b`, 'say "has no owner"'),
  phrase(
    `\\b(?:[Nn]ull|[Ff]alse|[Tt]rue|[Ll]eft out): (?:it|they|that|there|no|not|none|nothing|nowhere|nobody)\\b`,
    'say "null when …", "false if …"',
  ),
  phrase(`, for (?:it|they|he|what|there|who|nobody|nothing|neither|both)\\b`, 'say "because …"'),
  phrase(`\\bof (?:\\w+ ){1,3}of (?:\\w+ ){1,3}of `, 'three "of" in a row: use a possessive or a second sentence'),
  phrase(`\\b[Ss]ome(?:body|one)\\b`, 'name them: a person, a candidate, the caller, the operator'),
  phrase(`^(?:is|are|was|of|by)\\b`, 'a title stands alone in a log: begin with its subject, "a lease …"', ['title']),
  phrase(`^(?:and|but|or|nor|so|that|who|whose|what|which|as)\\b`, 'a title is a whole sentence, not the rest of the one before', [
    'title',
  ]),
];

const word = (pattern: string, say: string, flags = ''): RefusedWord => ({ pattern: new RegExp(pattern, flags), say });

/** Home-made words, each with the word of the field. */
export const WORDS: readonly RefusedWord[] = [
  word('\\bcomebacks?\\b', 'refill estimate'),
  word('told-?answers?\\b', 'observation', 'i'),
  word('\\b\\w*patien(?:ce|t|tly)\\b', 'wait budget, retry policy, poll schedule or timeout', 'i'),
  word('\\b\\w*couriers?\\b', 'dispatcher', 'i'),
  word('\\b[Ll]anes?\\b|[a-z]Lanes?\\b', 'fair queue'),
  word('\\b[Tt]id(?:y|ies|ied|ying)\\b|[a-z]Tidy\\b', 'janitor, or "removes expired …"'),
  word('\\b\\w*pacers?\\b', 'scheduler', 'i'),
  word('\\b[Oo]wing\\b|[a-z]Owing\\b', 'charge'),
  word('\\b\\w*(?:vouch(?:e[ds]|es)?|disbelieve\\w*)\\b', 'confirm, quarantine', 'i'),
  word('\\bPassages?\\b', 'record in progress'),
];
