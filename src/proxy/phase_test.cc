// The rows of the contract's tables, each as a sentence. What holds for all orders of events is in
// phase_orders_test.cc.
#include "proxy/phase.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <ostream>

namespace hushgate::proxy::phase {
namespace {

using E = Event;
using Events = std::initializer_list<Event>;

// What the last of `events` led to.
Step after(Events events) {
  Step now{};
  for (const Event event : events) {
    EXPECT_TRUE(applicable(now.state, event)) << name(event) << " in " << name(now.state.conn);
    now = step(now.state, event);
  }
  return now;
}

State state_after(Events events) { return after(events).state; }

// A step as its reader sees it.
struct Seen {
  Conn conn = Conn::fresh;
  ClientEffect client = ClientEffect::none;
  UpstreamEffect upstream = UpstreamEffect::none;

  friend bool operator==(const Seen&, const Seen&) = default;
};

void PrintTo(const Seen& seen, std::ostream* out) {
  *out << name(seen.conn) << ", client: " << name(seen.client)
       << ", upstream: " << name(seen.upstream);
}

Seen seen_after(Events events) {
  const Step now = after(events);
  return {now.state.conn, now.client, now.upstream};
}

struct Clocks {
  ClientClock client = ClientClock::none;
  UpstreamClock upstream = UpstreamClock::none;

  friend bool operator==(const Clocks&, const Clocks&) = default;
};

void PrintTo(const Clocks& clocks, std::ostream* out) {
  *out << name(clocks.client) << " and " << name(clocks.upstream);
}

Clocks clocks_after(Events events) {
  const State state = state_after(events);
  return {client_clock(state), upstream_clock(state)};
}

const Clocks kSilence{.upstream = UpstreamClock::silence};
const Clocks kConnect{.upstream = UpstreamClock::connect};
const Clocks kReceive{.client = ClientClock::receive};
const Clocks kSend{.client = ClientClock::send};
const Clocks kIdle{.client = ClientClock::idle};
const Clocks kLinger{.client = ClientClock::linger};
const Clocks kOurTurn{};

const Seen kAnswered{Conn::exchange, ClientEffect::answer, UpstreamEffect::none};
const Seen kAnsweredAborted{Conn::exchange, ClientEffect::answer, UpstreamEffect::abort};
const Seen kKept{Conn::kept, ClientEffect::keep, UpstreamEffect::none};
const Seen kLingers{Conn::closing, ClientEffect::linger, UpstreamEffect::none};
const Seen kClosed{Conn::closed, ClientEffect::close, UpstreamEffect::none};
const Seen kClosedAborted{Conn::closed, ClientEffect::close, UpstreamEffect::abort};
const Seen kCutClosed{Conn::closed, ClientEffect::cut, UpstreamEffect::abort};
const Seen kCutLingers{Conn::closing, ClientEffect::cut, UpstreamEffect::abort};
const Seen kReopened{Conn::exchange, ClientEffect::none, UpstreamEffect::reopen};
const Seen kFinishedKept{Conn::kept, ClientEffect::keep, UpstreamEffect::finish};

// --- Section 1: fresh, kept, head

TEST(Phase, AnIdleConnectionHasTheIdleClockAndIsClosedSilently) {
  EXPECT_EQ(clocks_after({}), kIdle);
  EXPECT_EQ(seen_after({E::client_deadline}), kClosed);
  EXPECT_EQ(clocks_after({E::client_bytes, E::head_local, E::local_end}), kIdle);
  EXPECT_EQ(seen_after({E::client_bytes, E::head_local, E::local_end, E::client_deadline}),
            kClosed);
}

TEST(Phase, TheHeadsClockStartsWithItsFirstByteAndNoLaterByteChangesIt) {
  const State first = state_after({E::client_bytes});
  EXPECT_EQ(client_clock(first), ClientClock::head);
  EXPECT_EQ(state_after({E::client_bytes, E::client_bytes}), first);
}

TEST(Phase, ASlowHeadIsA408ThenClosing) {
  EXPECT_EQ(seen_after({E::client_bytes, E::client_deadline}), kAnswered);
  EXPECT_EQ(seen_after({E::client_bytes, E::client_deadline, E::local_end}), kLingers);
}

TEST(Phase, AFaultyHeadIsAnsweredThenClosing) {
  EXPECT_EQ(seen_after({E::client_bytes, E::refused}), kAnswered);
  EXPECT_EQ(seen_after({E::client_bytes, E::refused, E::client_bytes, E::local_end}), kLingers);
}

TEST(Phase, AFinBehindAFaultyHeadDoesNotDestroyItsAnswer) {
  EXPECT_EQ(seen_after({E::client_bytes, E::refused, E::fin_with}), Seen{Conn::exchange});
  EXPECT_EQ(seen_after({E::client_bytes, E::refused, E::fin_with, E::local_end}), kLingers);
}

TEST(Phase, AFinWhileAnAnswerOfOursIsWrittenOnlyMakesItTheLast) {
  EXPECT_EQ(seen_after({E::client_bytes, E::head_safe, E::not_connected, E::takes_not, E::fin_later,
                        E::takes, E::local_end}),
            kLingers);
}

TEST(Phase, AFinOrAResetBeforeOrInAHeadClosesSilently) {
  for (const Event event : {E::fin_with, E::fin_later, E::reset}) {
    EXPECT_EQ(seen_after({event}), kClosed);
    EXPECT_EQ(seen_after({E::client_bytes, event}), kClosed);
  }
}

// --- Section 1: in

TEST(Phase, TheReceiveClockRunsOnlyWhileTheClientsBodyIsExpectedAndWanted) {
  EXPECT_EQ(clocks_after({E::client_bytes, E::head_body, E::connected}), kReceive);
  EXPECT_EQ(clocks_after({E::client_bytes, E::head_body, E::connected, E::client_bytes}), kReceive);
  EXPECT_EQ(clocks_after({E::client_bytes, E::head_body, E::connected, E::body_end}), kSilence);
}

TEST(Phase, WithoutAConnectionTheClientIsPausedAndConnectingIsOnTheClock) {
  EXPECT_EQ(clocks_after({E::client_bytes, E::head_body}), kConnect);
  EXPECT_EQ(shown(state_after({E::client_bytes, E::head_body})), Shown::serving);
  EXPECT_EQ(clocks_after({E::client_bytes, E::head_safe}), kConnect);
}

TEST(Phase, AfterExpectTheClientIsPausedAndTheUpstreamIsOnTheClockUntilItSpeaks) {
  EXPECT_EQ(clocks_after({E::client_bytes, E::head_expect, E::connected}), kSilence);
  EXPECT_EQ(clocks_after({E::client_bytes, E::head_expect, E::connected, E::interim}), kReceive);
}

TEST(Phase, AClientThatDoesNotWaitForIts100HasItsTurnAgain) {
  EXPECT_EQ(clocks_after({E::client_bytes, E::head_expect, E::connected, E::client_bytes}),
            kReceive);
  EXPECT_EQ(clocks_after({E::client_bytes, E::head_expect, E::connected, E::body_end}), kSilence);
}

TEST(Phase, WhenTheUpstreamTakesNoBytesTheClientIsPausedAndTheUpstreamIsOnTheClock) {
  EXPECT_EQ(clocks_after({E::client_bytes, E::head_body, E::connected, E::upstream_full}),
            kSilence);
  EXPECT_EQ(seen_after({E::client_bytes, E::head_body, E::connected, E::upstream_full,
                        E::upstream_deadline}),
            kAnsweredAborted);
  EXPECT_EQ(clocks_after(
                {E::client_bytes, E::head_body, E::connected, E::upstream_full, E::upstream_room}),
            kReceive);
}

TEST(Phase, ASlowBodyIsA408ThenClosingAndItsAttemptIsAborted) {
  EXPECT_EQ(seen_after({E::client_bytes, E::head_body, E::connected, E::client_deadline}),
            kAnsweredAborted);
  EXPECT_EQ(
      seen_after({E::client_bytes, E::head_body, E::connected, E::client_deadline, E::local_end}),
      kLingers);
}

TEST(Phase, ABodyThatIsTooLargeIsAnsweredBeforeAResponseAndCutsItAfterwards) {
  EXPECT_EQ(seen_after({E::client_bytes, E::head_body, E::connected, E::refused}),
            kAnsweredAborted);
  EXPECT_EQ(seen_after({E::client_bytes, E::head_body, E::connected, E::answer_head, E::refused}),
            kCutLingers);
}

TEST(Phase, ADuplexExchangeHasNoReceiveClockButTheUpstreamsSilence) {
  const Events duplex = {E::client_bytes, E::head_body, E::connected, E::answer_head};
  EXPECT_EQ(clocks_after(duplex), kSilence);
  const State state = state_after(duplex);
  EXPECT_EQ(step(state, E::client_bytes).state, state);
  EXPECT_EQ(step(state, E::upstream_deadline).client, ClientEffect::cut);
}

// --- Section 1: out

TEST(Phase, TheSweeperHasNoClockWhileTheUpstreamServes) {
  EXPECT_EQ(clocks_after({E::client_bytes, E::head_safe, E::connected}), kSilence);
  EXPECT_EQ(clocks_after({E::client_bytes, E::head_safe, E::connected, E::answer_head}), kSilence);
}

TEST(Phase, WhileResponseBytesWaitOnlyTheSendClockRuns) {
  EXPECT_EQ(
      clocks_after({E::client_bytes, E::head_safe, E::connected, E::answer_head, E::takes_not}),
      kSend);
  EXPECT_EQ(clocks_after({E::client_bytes, E::head_body, E::connected, E::interim, E::takes_not}),
            kSend);
  EXPECT_EQ(clocks_after({E::client_bytes, E::head_body, E::connected, E::upstream_full,
                          E::answer_head, E::takes_not}),
            kSend);
  EXPECT_EQ(clocks_after({E::client_bytes, E::head_local, E::takes_not}), kSend);
  EXPECT_EQ(clocks_after({E::client_bytes, E::head_safe, E::connected, E::answer_head, E::takes_not,
                          E::takes}),
            kSilence);
}

TEST(Phase, AClientThatTakesNothingIsCutAndClosed) {
  EXPECT_EQ(seen_after({E::client_bytes, E::head_safe, E::connected, E::answer_head, E::takes_not,
                        E::client_deadline}),
            kCutClosed);
}

TEST(Phase, InterimBytesThatStillWaitKeepTheSendClockWhenAnAnswerTakesTheResponsesPlace) {
  const Events lost = {E::client_bytes, E::head_body, E::connected,
                       E::interim,      E::takes_not, E::upstream_lost};
  EXPECT_EQ(seen_after(lost), kAnsweredAborted);
  EXPECT_EQ(clocks_after(lost), kSend);
}

TEST(Phase, AnExchangeThatEndedWellKeepsBothConnections) {
  EXPECT_EQ(
      seen_after({E::client_bytes, E::head_safe, E::connected, E::answer_head, E::answer_end}),
      kFinishedKept);
  EXPECT_EQ(seen_after({E::client_bytes, E::head_body, E::connected, E::body_end, E::answer_head,
                        E::answer_end}),
            kFinishedKept);
}

// --- Section 1: answers that overtake the request

TEST(Phase, AnEarlyResponseEndsForwardingAndTheRestIsReadUnderTheOldStamp) {
  const Events early = {E::client_bytes, E::head_body, E::connected, E::answer_head, E::answer_end};
  EXPECT_EQ(seen_after(early), (Seen{Conn::exchange, ClientEffect::none, UpstreamEffect::abort}));
  EXPECT_EQ(clocks_after(early), kReceive);
  const State state = state_after(early);
  EXPECT_EQ(step(state, E::body_end).client, ClientEffect::keep);
  EXPECT_EQ(step(state, E::discard_over).client, ClientEffect::linger);
  EXPECT_EQ(step(state, E::client_deadline).client, ClientEffect::linger);
  EXPECT_EQ(step(state, E::refused).client, ClientEffect::linger);
}

TEST(Phase, AnEarlyResponseToAnExpectEndsInClosingSinceTheBodyMayOrMayNotCome) {
  EXPECT_EQ(
      seen_after({E::client_bytes, E::head_expect, E::connected, E::answer_head, E::answer_end}),
      (Seen{Conn::closing, ClientEffect::linger, UpstreamEffect::abort}));
  EXPECT_EQ(seen_after({E::client_bytes, E::head_expect, E::not_connected, E::local_end}),
            kLingers);
}

TEST(Phase, AnAnswerOfOursPassesThroughTheSameStates) {
  EXPECT_EQ(clocks_after({E::client_bytes, E::head_local}), kOurTurn);
  EXPECT_EQ(seen_after({E::client_bytes, E::head_local, E::takes_not, E::takes, E::local_end}),
            kKept);
  EXPECT_EQ(clocks_after({E::client_bytes, E::head_local_body, E::local_end}), kReceive);
  EXPECT_EQ(seen_after({E::client_bytes, E::head_local_body, E::local_end, E::body_end}), kKept);
  EXPECT_EQ(seen_after({E::client_bytes, E::head_local_body, E::body_end, E::local_end}), kKept);
  EXPECT_EQ(seen_after({E::client_bytes, E::head_local_body, E::local_end, E::discard_over}),
            kLingers);
}

TEST(Phase, TheNextHeadOfAPipelineStartsWhenThePreviousExchangeEnds) {
  EXPECT_FALSE(applicable(state_after({E::client_bytes, E::head_safe}), E::client_bytes));
  EXPECT_EQ(clocks_after({E::client_bytes, E::head_local, E::local_end, E::client_bytes}),
            Clocks{.client = ClientClock::head});
}

// --- Section 1: tunnel, closing

TEST(Phase, ATunnelHasItsIdleClockAndEachBlockedDirectionASendClock) {
  const Events tunnel = {E::client_bytes, E::head_bodyless, E::connected, E::upgraded};
  EXPECT_EQ(clocks_after(tunnel), Clocks{.client = ClientClock::tunnel});
  const State open = state_after(tunnel);
  EXPECT_EQ(client_clock(step(open, E::takes_not).state), ClientClock::send);
  EXPECT_EQ(upstream_clock(step(open, E::upstream_full).state), UpstreamClock::send);
  EXPECT_EQ(step(step(open, E::upstream_full).state, E::upstream_room).state, open);
  EXPECT_EQ(step(step(open, E::takes_not).state, E::takes).state, open);
}

TEST(Phase, ATunnelClosesBothWaysOnADeadlineAResetOrALossAndNotOnAHalfClose) {
  const Events tunnel = {E::client_bytes, E::head_bodyless, E::connected, E::upgraded};
  const State open = state_after(tunnel);
  for (const Event event : {E::client_deadline, E::reset, E::upstream_lost, E::grace_over}) {
    const Step to = step(open, event);
    EXPECT_EQ((Seen{to.state.conn, to.client, to.upstream}), kCutClosed) << name(event);
  }
  EXPECT_EQ(step(open, E::fin_later).state, open);
  EXPECT_EQ(step(open, E::tunnel_end).upstream, UpstreamEffect::finish);
}

TEST(Phase, ClosingDiscardsUntilTheClientClosesOrItsClockRunsOut) {
  const Events closing = {E::client_bytes, E::refused, E::local_end};
  EXPECT_EQ(clocks_after(closing), kLinger);
  const State state = state_after(closing);
  EXPECT_EQ(step(state, E::client_bytes).state, state);
  for (const Event event :
       {E::client_deadline, E::drained, E::fin_later, E::reset, E::grace_over}) {
    EXPECT_EQ(step(state, event).state.conn, Conn::closed) << name(event);
  }
}

// --- Section 1: clients that leave

TEST(Phase, AClientThatResetsCancelsItsExchangeAtOnceAlsoInSilence) {
  EXPECT_EQ(seen_after({E::client_bytes, E::head_safe, E::reset}), kClosedAborted);
  EXPECT_EQ(seen_after({E::client_bytes, E::head_safe, E::connected, E::reset}), kClosedAborted);
  EXPECT_EQ(seen_after({E::client_bytes, E::head_safe, E::connected, E::answer_head, E::reset}),
            kCutClosed);
}

TEST(Phase, AFinBeforeTheRequestIsCompleteAbortsIt) {
  for (const Event event : {E::fin_with, E::fin_later}) {
    EXPECT_EQ(seen_after({E::client_bytes, E::head_body, event}), kClosedAborted);
    EXPECT_EQ(seen_after({E::client_bytes, E::head_body, E::connected, event}), kClosedAborted);
    EXPECT_EQ(seen_after({E::client_bytes, E::head_body, E::connected, E::upstream_full, event}),
              kClosedAborted);
  }
}

TEST(Phase, AFinWithTheRequestIsServedAndALaterOneCancels) {
  const Events waiting = {E::client_bytes, E::head_safe, E::connected};
  EXPECT_EQ(step(state_after(waiting), E::fin_with).state, state_after(waiting));
  EXPECT_EQ(seen_after({E::client_bytes, E::head_safe, E::connected, E::fin_with, E::answer_head,
                        E::answer_end}),
            kFinishedKept);
  EXPECT_EQ(seen_after({E::client_bytes, E::head_safe, E::connected, E::fin_later}),
            kClosedAborted);
}

TEST(Phase, ALaterFinInTheMiddleOfAResponseLeavesItVisiblyCut) {
  EXPECT_EQ(seen_after({E::client_bytes, E::head_safe, E::connected, E::answer_head, E::fin_later}),
            kCutClosed);
}

// --- Section 2

TEST(Phase, ASafeRequestIsSentOnceMoreWhenItsConnectionFailsWithoutAByte) {
  EXPECT_EQ(seen_after({E::client_bytes, E::head_safe, E::connected, E::upstream_lost}), kReopened);
  EXPECT_EQ(clocks_after({E::client_bytes, E::head_safe, E::connected, E::upstream_lost}),
            kConnect);
  EXPECT_EQ(seen_after({E::client_bytes, E::head_safe, E::connected, E::upstream_lost, E::connected,
                        E::upstream_lost}),
            kAnsweredAborted);
}

TEST(Phase, ASafeRequestIsNotSentAgainAfterAnyByteOfItsResponse) {
  for (const Event event : {E::answer_bytes, E::interim}) {
    EXPECT_EQ(seen_after({E::client_bytes, E::head_safe, E::connected, event, E::upstream_lost}),
              kAnsweredAborted);
  }
  EXPECT_EQ(
      seen_after({E::client_bytes, E::head_safe, E::connected, E::answer_head, E::upstream_lost}),
      kCutLingers);
}

TEST(Phase, AnUnsafeRequestIsNeverSentAgain) {
  for (const Event head : {E::head_bodyless, E::head_body, E::head_expect}) {
    EXPECT_EQ(seen_after({E::client_bytes, head, E::connected, E::upstream_lost}),
              kAnsweredAborted);
  }
  EXPECT_EQ(
      seen_after({E::client_bytes, E::head_body, E::connected, E::body_end, E::upstream_lost}),
      kAnsweredAborted);
}

TEST(Phase, WhatTheUpstreamProvedUnprocessedIsSentAgainUnsafeOrNot) {
  for (const Event head : {E::head_safe, E::head_bodyless, E::head_body, E::head_expect}) {
    EXPECT_EQ(seen_after({E::client_bytes, head, E::connected, E::unprocessed}), kReopened);
    EXPECT_EQ(clocks_after({E::client_bytes, head, E::connected, E::unprocessed}), kConnect);
    EXPECT_EQ(seen_after({E::client_bytes, head, E::connected, E::unprocessed, E::connected,
                          E::unprocessed}),
              kReopened);
  }
}

TEST(Phase, ARefusedUploadWaitsForAConnectionAndGoesOnWhereItWas) {
  const Events refused = {E::client_bytes, E::head_body, E::connected, E::client_bytes,
                          E::unprocessed};
  EXPECT_EQ(state_after(refused).in, In::wait_connection);
  EXPECT_EQ(state_after({E::client_bytes, E::head_body, E::connected, E::upstream_full,
                         E::unprocessed, E::connected}),
            state_after({E::client_bytes, E::head_body, E::connected}));
  EXPECT_EQ(clocks_after({E::client_bytes, E::head_body, E::connected, E::body_end, E::unprocessed,
                          E::connected}),
            kSilence);
  EXPECT_EQ(
      state_after({E::client_bytes, E::head_expect, E::connected, E::unprocessed, E::connected}).in,
      In::wait_continue);
}

TEST(Phase, ARefusalDoesNotUseUpTheReplayOfASafeRequestNorTheReplayARefusal) {
  EXPECT_EQ(seen_after({E::client_bytes, E::head_safe, E::connected, E::unprocessed, E::connected,
                        E::upstream_lost}),
            kReopened);
  EXPECT_EQ(seen_after({E::client_bytes, E::head_safe, E::connected, E::upstream_lost, E::connected,
                        E::unprocessed}),
            kReopened);
  EXPECT_EQ(seen_after({E::client_bytes, E::head_safe, E::connected, E::upstream_lost, E::connected,
                        E::unprocessed, E::connected, E::upstream_lost}),
            kAnsweredAborted);
}

TEST(Phase, NothingIsUnprocessedOnceAByteOfItsResponseHasCome) {
  for (const Event head : {E::head_safe, E::head_bodyless}) {
    for (const Event event : {E::answer_bytes, E::interim, E::answer_head}) {
      EXPECT_FALSE(
          applicable(state_after({E::client_bytes, head, E::connected, event}), E::unprocessed));
    }
    EXPECT_FALSE(applicable(state_after({E::client_bytes, head}), E::unprocessed));
  }
}

TEST(Phase, ATimeoutIsNeverRetried) {
  EXPECT_EQ(seen_after({E::client_bytes, E::head_safe, E::connected, E::upstream_deadline}),
            kAnsweredAborted);
  EXPECT_EQ(seen_after({E::client_bytes, E::head_safe, E::upstream_deadline}), kAnsweredAborted);
}

TEST(Phase, WhenEveryWayToConnectWasTriedTheClientIsAnsweredAndKept) {
  EXPECT_EQ(seen_after({E::client_bytes, E::head_safe, E::not_connected}), kAnsweredAborted);
  EXPECT_EQ(seen_after({E::client_bytes, E::head_safe, E::not_connected, E::local_end}), kKept);
  EXPECT_EQ(
      seen_after({E::client_bytes, E::head_body, E::not_connected, E::local_end, E::body_end}),
      kKept);
}

TEST(Phase, OnceResponseBytesHaveLeftAFailureCanOnlyCut) {
  for (const Event event : {E::upstream_lost, E::upstream_deadline}) {
    EXPECT_EQ(seen_after({E::client_bytes, E::head_safe, E::connected, E::answer_head, event}),
              kCutLingers);
  }
}

// --- Section 5: stop, and connections that say close

TEST(Phase, AfterTheLastExchangeTheConnectionLingers) {
  EXPECT_EQ(seen_after({E::client_bytes, E::head_safe, E::connected, E::last, E::answer_head,
                        E::answer_end}),
            (Seen{Conn::closing, ClientEffect::linger, UpstreamEffect::finish}));
  EXPECT_EQ(seen_after({E::last, E::client_bytes, E::head_local, E::local_end}), kLingers);
}

TEST(Phase, AKeptConnectionOfAStoppingProcessLingersWhenItsSecondIsOver) {
  EXPECT_EQ(seen_after({E::client_bytes, E::head_local, E::local_end, E::last, E::client_deadline}),
            kLingers);
}

TEST(Phase, TheEndOfTheGraceCutsWhatIsHalfOutAndClosesWhatIsWhole) {
  EXPECT_EQ(
      seen_after({E::client_bytes, E::head_safe, E::connected, E::answer_head, E::grace_over}),
      kCutClosed);
  EXPECT_EQ(seen_after({E::client_bytes, E::head_local_body, E::local_end, E::grace_over}),
            kClosed);
}

TEST(Phase, TheShownPhaseIsClosingBeforeTunnelBeforeSendingBeforeReceivingBeforeServing) {
  EXPECT_EQ(shown(state_after({})), Shown::idle);
  EXPECT_EQ(shown(state_after({E::client_bytes})), Shown::idle);
  EXPECT_EQ(shown(state_after({E::client_bytes, E::head_body, E::connected})), Shown::receiving);
  EXPECT_EQ(shown(state_after(
                {E::client_bytes, E::head_body, E::connected, E::answer_head, E::takes_not})),
            Shown::sending);
  EXPECT_EQ(shown(state_after(
                {E::client_bytes, E::head_bodyless, E::connected, E::upgraded, E::takes_not})),
            Shown::tunnel);
  EXPECT_EQ(shown(state_after({E::client_bytes, E::refused, E::local_end})), Shown::closing);
}

TEST(PhaseDeathTest, AnEventThatCannotHappenIsAMistakeOfOurs) {
  EXPECT_DEATH(step(State{}, E::answer_head), "applicable");
  EXPECT_DEATH(step(State{.conn = Conn::closed}, E::client_bytes), "applicable");
}

}  // namespace
}  // namespace hushgate::proxy::phase
